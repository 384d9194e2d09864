"""What happened to one host, across runs, newest first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from apps.core.rankspans import spans
from apps.core.records import NodeEvent
from apps.core.words import many
from apps.incidents.domain.storymark import ALWAYS, Mark
from apps.incidents.store import blames
from apps.incidents.store.blames import Blamed
from apps.nodes import hosts_store
from apps.nodes import store as nodes
from apps.nodes.records import ChangeInfo
from apps.runs import hosts_store as parts
from apps.runs.hosts_store import Handed, Part

PAGE = 60
"""Lines of a page; of each source at most so many are read."""
MAX_EVENTS = 300
_LOUD = {"critical": "critical", "error": "critical", "warning": "warn"}


@dataclass(frozen=True, slots=True)
class Line:
    """One line. mark: its place in the story. tone: critical, warn, ok, run or muted.

    incident: its id. run, attempt: of an attempt it took part in.
    """

    mark: Mark
    tone: str
    title: str
    text: str = ""
    incident: int | None = None
    run: str = ""
    attempt: int | None = None

    @property
    def at_ns(self) -> int:
        """When it happened."""
        return self.mark.at_ns

    @property
    def what(self) -> str:
        """event, incident, state or attempt."""
        return self.mark.source


@dataclass(frozen=True, slots=True)
class DeviceRow:
    """A device of the host: the attempts that ran on it, and the loudest that happened to it."""

    name: str
    events: int
    worst: NodeEvent | None


@dataclass(frozen=True, slots=True)
class HostStory:
    """lines: newest first. before: the place of the last, None if there are no older ones.
    devices: by name."""

    lines: Sequence[Line]
    before: Mark | None
    devices: Sequence[DeviceRow]
    handed: Sequence[Handed]


def story(name: str, before: Mark = ALWAYS) -> HostStory:
    """One page of what is known of a host, of lines older than a place. Five statements."""
    took_part = parts.parts(name, before.before("attempt"), PAGE)
    named = blames.blamed(name, before.before("incident")[:2], PAGE)
    changes = hosts_store.changes(name, before.before("state")[:2], PAGE)
    events, more = nodes.latest_events(name, before.before("event")[:2], MAX_EVENTS)
    swapped = parts.handed(name, [(part.run_id, part.attempt) for part in took_part])
    told = [_of_event(event) for event in events]
    lines = [
        *told,
        *map(_of_incident, named),
        *map(_of_change, changes),
        *(_of_part(part, swapped) for part in took_part),
    ]
    if more:  # those that were not read may be newer than lines of other sources
        oldest = min(line.mark.order for line in told)
        lines = [line for line in lines if line.mark.order >= oldest]
    lines.sort(key=lambda line: line.mark.order, reverse=True)
    full = more or PAGE in (len(took_part), len(named), len(changes))
    shown, cut = lines[:PAGE], full or len(lines) > PAGE
    return HostStory(shown, shown[-1].mark if cut else None, _devices(took_part, events), swapped)


def _of_event(event: NodeEvent) -> Line:
    tone = _LOUD.get(event.severity, "muted")
    device = f" on {event.device}" if event.device else ""
    over = "" if event.ended_ns is None else ", over since then"
    text = f"{event.message} ({event.severity}, from {event.source}{over})"
    mark = Mark(event.time_ns, "event", (int(event.key, 16), 0))
    return Line(mark, tone, f"{event.kind}{device}", text)


def _of_incident(one: Blamed) -> Line:
    blame = one.blame
    said = "blames it" if blame.weight > 0 else "names it, and blames the program"
    rank = f"rank {blame.rank}, " if blame.rank is not None else ""
    text = f"{rank}{blame.fault_class.replace('_', ' ')}, confidence {blame.confidence:.2f}"
    if blame.confirmed_by:
        text = f"{text}; confirmed by {blame.confirmed_by}"
    tone = "critical" if blame.suspected else "warn" if blame.weight else "muted"
    title = f"{one.label} {said}: {one.title}"
    mark = Mark(one.at_ns, "incident", (one.incident_id, 0))
    return Line(mark, tone, title, text, incident=one.incident_id)


def _of_change(change: ChangeInfo) -> Line:
    again = change.before is change.after
    word = f"still {change.after}" if again else f"{change.before} → {change.after}"
    tone = {"ok": "ok", "suspected": "warn", "confirmed": "critical"}.get(change.after, "muted")
    by = "" if change.actor == "lastgood" else f" by {change.actor}"
    mark = Mark(change.at_ns, "state", (change.seq, 0))
    return Line(mark, tone, f"{word}{by}", change.reason)


def _of_part(part: Part, swapped: Iterable[Handed]) -> Line:
    ranks = f"{many(len(part.ranks), 'rank')}: {spans(part.ranks)}"
    gpus = f"; {_counted(part.devices)}" if part.devices else ""
    own = [h for h in swapped if (h.run_id, h.attempt) == (part.run_id, part.attempt)]
    text = "; ".join([f"{ranks}{gpus}", *map(handing, own)])
    title = f"{part.run}, attempt {part.attempt}: {part.state}"
    tone = "warn" if part.failed else "run"
    mark = Mark(part.started_ns, "attempt", (part.run_id, part.attempt))
    return Line(mark, tone, title, text, run=part.run, attempt=part.attempt)


def _counted(devices: Iterable[str]) -> str:
    """ "8 x NVIDIA H200", or each by its own name."""
    found = Counter(devices)
    return ", ".join(f"{n} x {name}" if n > 1 else name for name, n in found.items())


def handing(one: Handed) -> str:
    """ "ranks 8-15 went to gpu-b07 in attempt 5, which it is not in"."""
    ranks = f"rank{'s' if len(one.ranks) > 1 else ''} {spans(one.ranks)}"
    if not one.later:
        return f"{ranks} came from {one.other} of attempt {one.other_attempt}"
    gone = "" if one.stayed else ", which it is not in"
    return f"{ranks} went to {one.other} in attempt {one.other_attempt}{gone}"


def _devices(took_part: Sequence[Part], events: Sequence[NodeEvent]) -> list[DeviceRow]:
    of_device: dict[str, list[NodeEvent]] = {d: [] for part in took_part for d in part.devices}
    for event in events:
        if event.device:
            of_device.setdefault(event.device, []).append(event)
    order = {"critical": 0, "error": 1, "warning": 2}
    return [
        DeviceRow(
            name,
            len(found),
            min(found, key=lambda e: (order.get(e.severity, 3), -e.time_ns), default=None),
        )
        for name, found in sorted(of_device.items())
    ]
