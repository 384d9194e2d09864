"""Lines of the kernel as node events. Plain Python."""

from __future__ import annotations

from collections.abc import Iterator

from apps.core.errors import BadPayload
from apps.core.records import NodeEvent
from apps.ingest.kernel.reading import Reader, Said
from apps.ingest.nodes.parse import ADD_NODE, MAX_EVENTS, MAX_RAW, SMALLER, NodeBatch, Sender
from apps.logs.domain.reading.headers import Clock
from apps.nodes.domain.kernel import fault_of

MAX_LINES = 100_000
MAX_LINE = 4_096
"""Characters of a line that are read."""
_MAX_JOINED = 8
_MAX_NS = 2**62


def parse(body: bytes, sender: Sender) -> NodeBatch:
    """An event for each line that tells of a fault; those of unknown time are counted.

    A line without a time goes on with the one before it. Bytes that are no UTF-8 are replaced.
    BadPayload if there are too many lines or events, or if nobody names the node.
    """
    lines = body.decode("utf-8", "replace").split("\n")
    if len(lines) > MAX_LINES:
        raise BadPayload(f"more than {MAX_LINES} lines", where="body", hint=SMALLER)
    reader = Reader(Clock(sender.received_ns, sender.offset_s), sender.boot_ns)
    events, unread = [], 0
    for at, said in _joined(lines, reader):
        if said is None or not 0 <= said.time_ns <= _MAX_NS:
            unread += 1
        elif (event := _event(said, sender, at)) is not None:
            events.append(event)
    if len(events) > MAX_EVENTS:
        raise BadPayload(f"more than {MAX_EVENTS} events", where="body", hint=SMALLER)
    return NodeBatch(tuple(events), {"kernel_lines_unread": unread})


def _joined(lines: list[str], reader: Reader) -> Iterator[tuple[int, Said | None]]:
    """(number of the line, what it says with the lines that go on with it or None)."""
    held: list[str] = []
    first: tuple[int, Said] | None = None
    for number, line in enumerate(lines, 1):
        text = line.rstrip("\r")[:MAX_LINE]
        said = reader.read(text)
        if said is None:
            if first is None and text.strip():
                yield number, None
            elif len(held) < _MAX_JOINED:
                held.append(text.strip())
            continue
        if first is not None:
            yield first[0], _with(first[1], held)
        first, held = (number, said), []
    if first is not None:
        yield first[0], _with(first[1], held)


def _with(said: Said, more: list[str]) -> Said:
    text = " ".join([said.text, *more]).replace("\0", "\ufffd")
    return Said(said.time_ns, said.host, said.form, text.strip())


def _event(said: Said, sender: Sender, line: int) -> NodeEvent | None:
    fault = fault_of(said.text)
    if fault is None:
        return None
    node = sender.node or said.host
    if not node:
        raise BadPayload("nothing says which node this is of", where=f"line {line}", hint=ADD_NODE)
    return NodeEvent(
        node=node[:253].replace("\0", "\ufffd"),
        time_ns=said.time_ns,
        kind=fault.kind,
        severity=fault.severity,
        message=fault.message,
        device=fault.device,
        source=f"kernel ({said.form})",
        raw=said.text[:MAX_RAW],
        key=said.text[:MAX_RAW],
    )
