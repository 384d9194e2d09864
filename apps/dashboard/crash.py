"""How a job died, as the page of its incident shows it: what was kept with the verdict, with links
into the logs and the events of the hosts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
from django.urls import reverse
from django.utils.http import urlencode

from apps.core.clock import now_ns
from apps.core.errors import AppError
from apps.core.records import Finding, NodeEvent
from apps.core.words import duration
from apps.dashboard.log_ask import OLDEST, moment
from apps.incidents.domain.incident import IncidentInfo
from apps.ingest.nodes.status import statuses
from apps.logs import search
from apps.logs.domain.query.cursor import pack_cursor
from apps.logs.domain.query.paging import file_key
from apps.logs.domain.triage.course import Course
from apps.logs.domain.triage.frames import innermost
from apps.logs.domain.triage.keylines import KeyLine
from apps.logs.domain.triage.lanes import Lane, Mark, Part
from apps.logs.domain.triage.report import failure_key
from apps.logs.store.bucket import BucketAway
from apps.nodes import store as nodes
from apps.nodes.domain.telling import said

BEFORE_NS, AFTER_NS = 600_000_000_000, 300_000_000_000
"""Node events from 10 minutes before a failure to 5 minutes after it are shown."""
WIDTH = 1_000
_LEAST = 8
"""Units of WIDTH that a mark takes at least, to be seen."""
MAX_HOSTS = 4
MAX_EVENTS = 12
MAX_SILENT = 8
_AROUND_NS = 30_000_000_000
_NO_RANK = -1
LOOKED_BACK = 40
"""Lines before the one that began it, where its traceback is looked for."""
_MS = 1_000_000


@dataclass(frozen=True, slots=True)
class Bar:
    """A mark on its lane, in units of WIDTH from the left."""

    mark: Mark
    x: int
    width: int
    after_s: float

    @property
    def lasted_s(self) -> float:
        """How long it waited."""
        return (self.mark.end_ns - self.mark.start_ns) / 1e9


@dataclass(frozen=True, slots=True)
class Row:
    """A lane with its bars."""

    lane: Lane
    bars: Sequence[Bar]


@dataclass(frozen=True, slots=True)
class Line:
    """One of the lines that matter. off_s: how far the clock of its host is ahead, 0 for less than
    a millisecond. where: the page of logs around it. frames: the innermost of the traceback that
    ends with it, oldest first."""

    line: KeyLine
    off_s: float
    where: str
    frames: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Told:
    """A node event. after_s: behind the failure, negative before it."""

    event: NodeEvent
    text: str
    after_s: float


@dataclass(frozen=True, slots=True)
class Crash:
    """The section. said: what the finding says of its fault. hosts: of those to blame. quiet: what
    it means that there are no events; "" if there are. silent: sources of node events that were
    heard last before the failure."""

    course: Course
    said: dict[str, Any]
    rank: int | None
    node: str | None
    rows: Sequence[Row]
    span_s: float
    begin_ns: int
    lines: Sequence[Line]
    hosts: Sequence[str]
    events: Sequence[Told]
    more_events: int
    quiet: str
    silent: Sequence[str]


def crash_of(run_key: str, incident: IncidentInfo, findings: Sequence[Finding]) -> Crash | None:
    """The section for the failure of the incident's attempt; None without one, or where it was
    judged by a program that kept no course, or another kind of it."""
    key = failure_key(incident.attempt)
    found = next((f for f in findings if f.key == key), None)
    course = _course(found) if found is not None else None
    if found is None or course is None:
        return None
    begin_ns, end_ns = _span(course, found.onset_time_ns)
    hosts = sorted({s.node for s in found.suspects if s.node})[:MAX_HOSTS]
    events = _events(hosts, found.onset_time_ns)
    return Crash(
        course=course,
        said=dict(found.facts),
        rank=found.rank,
        node=found.node,
        rows=[_row(lane, begin_ns, end_ns) for lane in course.lanes.lanes],
        span_s=(end_ns - begin_ns) / 1e9,
        begin_ns=begin_ns,
        lines=_with_frames(
            incident, [_line(run_key, incident.attempt, line) for line in course.lines]
        ),
        hosts=hosts,
        events=events[:MAX_EVENTS],
        more_events=max(0, len(events) - MAX_EVENTS),
        quiet="" if events else _quiet(hosts, found.onset_time_ns),
        silent=_silent(found.onset_time_ns),
    )


def _course(found: Finding) -> Course | None:
    try:
        return msgspec.convert(found.facts.get("course"), Course)
    except msgspec.ValidationError:
        return None


def _silent(onset_ns: int) -> list[str]:
    """Sources that are silent now and have been since before the failure. One that is merely due to
    be asked again is none."""
    latest_ns = max(now_ns(), onset_ns)
    before = [one for one in statuses() if one.heard_ns < onset_ns and one.silent(latest_ns)]
    return [one.name for one in before[:MAX_SILENT]]


def _span(course: Course, onset_ns: int) -> tuple[int, int]:
    """From the first mark to the last, at least a second."""
    marks = [mark for lane in course.lanes.lanes for mark in lane.marks]
    begin_ns = min((mark.start_ns for mark in marks), default=onset_ns)
    end_ns = max((mark.end_ns for mark in marks), default=onset_ns)
    return begin_ns, max(end_ns, begin_ns + 1_000_000_000)


def _row(lane: Lane, begin_ns: int, end_ns: int) -> Row:
    return Row(lane, [_bar(mark, begin_ns, end_ns) for mark in lane.marks])


def _bar(mark: Mark, begin_ns: int, end_ns: int) -> Bar:
    unit = (WIDTH - _LEAST) / (end_ns - begin_ns)
    x = round((mark.start_ns - begin_ns) * unit)
    width = max(_LEAST, round((mark.end_ns - mark.start_ns) * unit))
    return Bar(mark, x, width, (mark.end_ns - begin_ns) / 1e9)


def _line(run_key: str, attempt: int, line: KeyLine) -> Line:
    off_ns = line.own_ns - line.time_ns
    off_s = off_ns / 1e9 if abs(off_ns) >= _MS else 0.0
    asked = urlencode(_at(attempt, line) if line.spot.source else _around(attempt, line))
    return Line(line, off_s, f"{reverse('logs', args=[run_key])}?{asked}")


def _with_frames(incident: IncidentInfo, lines: Sequence[Line]) -> Sequence[Line]:
    """The first line that began it, with its traceback: of the others it is one click away."""
    at = next((n for n, one in enumerate(lines) if _may_be_raised(one.line)), None)
    if at is None:
        return lines
    cursor = _at(incident.attempt, lines[at].line)["at"]
    try:
        page = search.around(incident.run_id, str(cursor), before=LOOKED_BACK, after=0)
    except (AppError, BucketAway):
        return lines
    frames = innermost([entry.text for entry in page.lines[:-1]])
    return [*lines[:at], replace(lines[at], frames=frames), *lines[at + 1 :]]


def _may_be_raised(line: KeyLine) -> bool:
    return line.part is Part.INITIATING and bool(line.spot.source) and line.rank is not None


def _at(attempt: int, line: KeyLine) -> dict[str, str | int]:
    """The very line, amid its neighbours."""
    spot = line.spot
    rank = _NO_RANK if spot.rank is None else spot.rank
    file = file_key(spot.source, attempt, spot.node)
    return {"attempt": attempt, "at": pack_cursor((line.own_ns, rank, spot.seq, file))}


def _around(attempt: int, line: KeyLine) -> dict[str, str | int]:
    """What the rank logged around it, by the clock of its host."""
    rank = {} if line.rank is None else {"q": f"rank:{line.rank}"}
    start, end = moment(line.own_ns - _AROUND_NS), moment(line.own_ns + _AROUND_NS)
    return {**rank, "attempt": attempt, "from": start, "to": end, "order": OLDEST}


def _events(hosts: Sequence[str], onset_ns: int) -> list[Told]:
    if not hosts:
        return []
    found = nodes.events(hosts, onset_ns - BEFORE_NS, onset_ns + AFTER_NS)
    return [Told(e, said(e), (e.time_ns - onset_ns) / 1e9) for e in found]


def _quiet(hosts: Sequence[str], onset_ns: int) -> str:
    """What it means that no source tells anything of these hosts around the failure."""
    if not hosts:
        return "No host is named, so that no events of one could be looked for."
    named = ", ".join(hosts)
    heard = nodes.last_heard(hosts)
    if not heard:
        return (
            f"No source has ever told anything of {named}: whether the kernel, a GPU or the network"
            " failed there cannot be said."
        )
    last_ns = max(heard.values())
    span = duration(abs(onset_ns - last_ns) / 1e9)
    when = f"{span} {'before' if last_ns <= onset_ns else 'after'} the failure"
    return f"Nothing is known to have happened to {named}; its newest event is {when}."
