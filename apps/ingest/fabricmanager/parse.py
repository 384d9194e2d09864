"""Log lines of NVIDIA's Fabric Manager, /var/log/fabricmanager.log. Plain Python.

An entry is `[Feb 25 2025 13:59:45] [ERROR] [tid 1803] text` and may go on over several lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from apps.core.errors import BadPayload
from apps.core.records import NodeEvent
from apps.ingest.nodes.parse import MAX_EVENTS, MAX_MESSAGE, MAX_RAW, SMALLER, NodeBatch, Sender
from apps.logs.domain.reading.headers import Clock
from apps.nodes.domain.kernel import Fault, pci
from apps.nodes.domain.xids import sxid

SOURCE = "fabricmanager"
MAX_LINES = 200_000
_MAX_LINE, _MAX_JOINED = 4_096, 8
_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
_ENTRY = re.compile(
    rf"\[(?P<month>{'|'.join(_MONTHS)}) (?P<day>[ \d]\d) (?P<year>\d{{4}}) "
    r"(?P<clock>\d\d:\d\d:\d\d)\] \[(?P<level>[A-Z]{1,12})\] (?:\[tid \d{1,10}\] )?(?P<text>.*)"
)
_PCI = r"(?P<device>[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-9a-fA-F])?)"
_SXID = re.compile(
    r"NVSwitch (?P<how>non-fatal|fatal) error (?P<number>\d{1,6})\b(?:.{0,200}?pci bus id "
    rf"{_PCI})?(?P<port>.{{0,80}}?port \d{{1,4}})?",
    re.IGNORECASE,
)
_ANY_PCI = re.compile(_PCI)
_LINK = re.compile(r"nvlink|link (?:training|failure|error|down)|trunk|access link", re.IGNORECASE)
LEVELS = {"WARNING": "warning", "ERROR": "error", "CRITICAL": "critical", "FATAL": "critical"}
"""Levels that become events -> severity; others tell of the usual course of things."""


def parse(body: bytes, sender: Sender) -> NodeBatch:
    """An event for each entry from the level WARNING on; lines before the first entry are counted.

    BadPayload if nobody names the node, or there are too many lines or events.
    """
    node = sender.named()
    lines = body.decode("utf-8", "replace").replace("\0", "\ufffd").splitlines()
    if len(lines) > MAX_LINES:
        raise BadPayload(f"more than {MAX_LINES} lines", where="body", hint=SMALLER)
    clock = Clock(sender.received_ns, sender.offset_s)
    events, unread = [], 0
    for entry, text in _entries(lines):
        time_ns = None if entry is None else _time_ns(entry, clock)
        if entry is None or time_ns is None:
            unread += 1
        elif severity := LEVELS.get(entry["level"]):
            events.append(_event(node, time_ns, severity, text))
    if len(events) > MAX_EVENTS:
        raise BadPayload(f"more than {MAX_EVENTS} events", where="body", hint=SMALLER)
    return NodeBatch(tuple(events), {"fabricmanager_lines_unread": unread})


def _entries(lines: list[str]) -> Iterator[tuple[re.Match[str] | None, str]]:
    """(head, text with the lines that go on with it); (None, line) before the first head."""
    head: re.Match[str] | None = None
    held: list[str] = []
    for line in lines:
        found = _ENTRY.match(line[:_MAX_LINE])
        if found is None and head is None:
            if line.strip():
                yield None, line
        elif found is None:
            if len(held) < _MAX_JOINED:
                held.append(line[:_MAX_LINE].strip())
        else:
            if head is not None:
                yield head, " ".join(filter(None, held))
            head, held = found, [found["text"].strip()]
    if head is not None:
        yield head, " ".join(filter(None, held))


def _time_ns(entry: re.Match[str], clock: Clock) -> int | None:
    month = _MONTHS.index(entry["month"]) + 1
    stamp = f"{entry['year']}-{month:02d}-{int(entry['day']):02d} {entry['clock']}"
    time_ns = clock.iso(stamp, None, None)
    return time_ns if time_ns is not None and 0 <= time_ns <= 2**62 else None


def _event(node: str, time_ns: int, severity: str, text: str) -> NodeEvent:
    fault = _fault(text, severity)
    return NodeEvent(
        node=node,
        time_ns=time_ns,
        kind=fault.kind,
        severity=fault.severity,
        message=fault.message[:MAX_MESSAGE],
        device=fault.device,
        source=SOURCE,
        raw=text[:MAX_RAW],
        key=text[:MAX_RAW],
    )


def _fault(text: str, severity: str) -> Fault:
    if found := _SXID.search(text):
        number, fatal = int(found["number"]), found["how"].lower() == "fatal"
        code = sxid(number, fatal=fatal)
        device = pci(found["device"]) if found["device"] else None
        port = found["port"].rpartition(" ")[2] if found["port"] else ""
        words = f"SXid {number}: {code.words()}{f', port {port}' if port else ''}"
        return Fault(f"sxid_{'fatal' if fatal else 'nonfatal'}", code.severity, words, device)
    kind = "nvlink" if _LINK.search(text) else "fabricmanager"
    place = _ANY_PCI.search(text)
    return Fault(kind, severity, text, pci(place["device"]) if place else None)
