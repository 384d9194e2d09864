"""The system event log of a BMC, as `ipmitool sel elist` prints it. Plain Python.

Text (`|` between the fields) and CSV (`ipmitool -c`). Times have no zone, and the clock of a BMC
is often wrong: a sender may say what it showed.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from apps.core.errors import BadPayload
from apps.core.records import NodeEvent
from apps.ingest.nodes.parse import MAX_EVENTS, MAX_RAW, SMALLER, NodeBatch, Sender

SOURCE = "ipmi"
MAX_LINES = 100_000
_MAX_LINE = 1_000
_MAX_WORDS = 160
"""Of sensor and event, which ipmitool writes in fewer: some patterns cost its square."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ID = re.compile(r"[0-9a-fA-F]{1,4}")
_FORMS = tuple(
    f"{date} {clock}"
    for date in ("%m/%d/%Y", "%m/%d/%y", "%Y-%m-%d")
    for clock in ("%H:%M:%S", "%I:%M:%S %p")
)
_ZONE = re.compile(r" (?:UTC|GMT)$")

MEANINGS: Final = tuple(
    (re.compile(words, re.IGNORECASE), kind, severity)
    for words, kind, severity in (
        (r"presence detected|timestamp clock sync|log area|fully redundant|slot.*(connect|insert)"
         r"|s0/g0|legacy (on|off) state|device (enabled|present)|oem record|initiated by|\bok\b",
         "", ""),
        (r"uncorrectable ecc|parity|memory.*(failure|critical overtemp)", "ecc", "critical"),
        (r"correctable ecc|ecc.*limit", "ecc", "warning"),
        (r"bus (fatal|uncorrectable)|pci.*(perr|serr|fatal)", "pcie", "critical"),
        (r"bus (correctable|degraded|timeout)|pci", "pcie", "warning"),
        (r"thermal trip|processor hot|temp.*(non-recov|critical)", "thermal", "critical"),
        (r"temp|thermal|prochot|throttled", "thermal", "warning"),
        (r"ierr|machine check|mcerr|configuration error|bios post", "mce", "critical"),
        (r"power supply.*(fail|lost|error|inactive)|ac lost|redundancy lost|power off/down|vr",
         "power", "error"),
        (r"power supply|redundan|voltage|psu|\bpower\b", "power", "warning"),
        (r"fan|cooling", "fan", "warning"),
        (r"drive.*(fault|fail|critical)|array", "disk", "error"),
        (r"drive|predictive failure", "disk", "warning"),
        (r"watchdog.*(reset|power|reboot|expired)", "reboot", "error"),
        (r"run-time critical stop|os graceful|os stop|panic", "panic", "error"),
        (r"intrusion|chassis", "chassis", "info"),
        (r"link|nic|ethernet", "network", "warning"),
    )
)  # fmt: skip
"""Words of sensor and event -> kind, severity; the first that matches. Kind "": no event."""


@dataclass(frozen=True, slots=True)
class _Row:
    at: str
    sensor: str
    said: str
    asserted: bool
    raw: str


def parse(body: bytes, sender: Sender) -> NodeBatch:
    """An event for each entry that something was asserted in; a deassertion ends it.

    Entries without a time (Pre-Init) and lines that are none are counted. BadPayload if nobody
    names the node, or there are too many lines or events.
    """
    node, shift_ns = sender.named(), _shift_ns(sender)
    lines = body.decode("utf-8", "replace").replace("\0", "\ufffd").splitlines()
    if len(lines) > MAX_LINES:
        raise BadPayload(f"more than {MAX_LINES} lines", where="body", hint=SMALLER)
    counts: Counter[str] = Counter()
    events: list[NodeEvent] = []
    open_at: dict[tuple[str, str], int] = {}
    for line in lines:
        row = _row(line[:_MAX_LINE].strip(), counts)
        meaning = _meaning(row) if row else None
        if row is None or meaning is None:
            continue
        time_ns = _time_ns(row.at, shift_ns)
        if time_ns is None:
            counts["sel_without_time"] += 1
        elif row.asserted:
            open_at[row.sensor, row.said] = len(events)
            events.append(_event(node, row, time_ns, *meaning))
        elif (began := open_at.pop((row.sensor, row.said), None)) is not None:
            ended_ns = max(time_ns, events[began].time_ns)
            events[began] = replace(events[began], ended_ns=ended_ns)
    if len(events) > MAX_EVENTS:
        raise BadPayload(f"more than {MAX_EVENTS} events", where="body", hint=SMALLER)
    return NodeBatch(tuple(events), dict(counts))


def _row(line: str, counts: Counter[str]) -> _Row | None:
    if not line:
        return None
    cells = [cell.strip() for cell in line.split("|" if "|" in line else ",")]
    if len(cells) < 5 or not _ID.fullmatch(cells[0]):
        counts["sel_lines_unread"] += 1
        return None
    at, rest = f"{cells[1]} {cells[2]}", cells[3:]
    if cells[1] == "Pre-Init" and rest[0] == "":
        rest = rest[1:]
    way = next((c for c in rest if c.lower() in ("asserted", "deasserted")), "Asserted")
    said = rest[1] if len(rest) > 1 and rest[1] != way else ""
    return _Row(at, rest[0], said, way.lower() == "asserted", line)


def _meaning(row: _Row) -> tuple[str, str] | None:
    """Kind and severity; None where nothing is wrong."""
    words = f"{row.sensor[:64]} {row.said}"[:_MAX_WORDS]
    for known, kind, severity in MEANINGS:
        if known.search(words):
            return (kind, severity) if kind else None
    return ("bmc", "info")


def _event(node: str, row: _Row, time_ns: int, kind: str, severity: str) -> NodeEvent:
    return NodeEvent(
        node=node,
        time_ns=time_ns,
        kind=kind,
        severity=severity,
        message=f"{row.sensor}: {row.said}".rstrip(": "),
        device=row.sensor[:128] or None,
        source=SOURCE,
        raw=row.raw[:MAX_RAW],
        key=f"{row.sensor}\0{row.said}\0{row.raw.partition('|')[0].partition(',')[0].strip()}",
    )


def _shift_ns(sender: Sender) -> int:
    """What has to be added to a time of the log to have UTC."""
    if sender.clock_ns is not None:
        return sender.received_ns - sender.clock_ns
    return -sender.offset_s * 1_000_000_000


def _time_ns(text: str, shift_ns: int) -> int | None:
    said = read_clock_ns(text)
    time_ns = None if said is None else said + shift_ns
    return time_ns if time_ns is not None and 0 <= time_ns <= 2**62 else None


def read_clock_ns(text: str) -> int | None:
    """A date and a time of day as ipmitool writes them, as if in UTC; None for anything else."""
    plain = _ZONE.sub("", text.strip())
    for form in _FORMS:
        try:
            moment = datetime.strptime(plain, form).replace(tzinfo=UTC)
        except ValueError:
            continue
        return (moment - _EPOCH) // timedelta(microseconds=1) * 1_000
    return None
