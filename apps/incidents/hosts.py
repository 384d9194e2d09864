"""Hosts as pages and programs see them: where each stands, why, and where it runs now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from apps.core.clock import now_ns
from apps.incidents.store import blames
from apps.incidents.store.blames import Blamed
from apps.logs.store.hosts import hosts_heard
from apps.nodes import hosts_store
from apps.nodes.domain.lemon import DAY_NS, NEVER, WINDOW_D, Record, score_at
from apps.nodes.domain.standing import HostState
from apps.nodes.records import GroupCount, HostInfo, HostQuery, OpenEvent, Place
from apps.runs import hosts_store as parts
from apps.runs import store as runs
from apps.runs.hosts_store import Attendance, Running

OPEN_NS = 7 * DAY_NS
"""An event without an end is taken to be open for so long."""
LIVE_NS = DAY_NS
"""A run that has not ended is taken to run for so long after it was heard of."""
SHOWN_INCIDENTS = 3
SHOWN_GROUPS = 40
_NOBODY = Attendance()


@dataclass(frozen=True, slots=True)
class HostRow:
    """One host with everything a list says of it. score: its lemon score now. last_ns: the newest
    line or row of it, None if it was in no run."""

    host: HostInfo
    score: float
    record: Record
    blamed: Sequence[Blamed]
    events: Sequence[OpenEvent]
    running: Sequence[Running]
    last_ns: int | None

    @property
    def incidents(self) -> Sequence[Blamed]:
        """The newest incidents that blame it."""
        return self.blamed[:SHOWN_INCIDENTS]

    @property
    def more_incidents(self) -> int:
        """How many more do."""
        return max(0, len(self.blamed) - SHOWN_INCIDENTS)


def rows(asked: HostQuery, now: int | None = None) -> list[HostRow]:
    """A page of hosts, the most urgent first. Six statements, whatever the number of hosts."""
    return beside(hosts_store.list_hosts(asked), now_ns() if now is None else now)


def beside(hosts: Sequence[HostInfo], now: int) -> list[HostRow]:
    """The same of hosts that are known already. Five statements."""
    names = [host.name for host in hosts]
    since_ns = now - WINDOW_D * DAY_NS
    took_part = parts.attendance(names, since_ns)
    running = parts.running(names, now - LIVE_NS)
    blamed = blames.blamed_lately(names, since_ns)
    events = hosts_store.open_events(names, now - OPEN_NS)
    heard = _heard(names, took_part, running)
    return [
        HostRow(
            host=host,
            score=0.0 if host.log2_score == NEVER else score_at(host.log2_score, now),
            record=_record(blamed.get(host.name, ()), took_part.get(host.name, _NOBODY)),
            blamed=blamed.get(host.name, ()),
            events=events.get(host.name, ()),
            running=running.get(host.name, ()),
            last_ns=heard.get(host.name),
        )
        for host in hosts
    ]


def _heard(
    names: Sequence[str],
    took_part: Mapping[str, Attendance],
    running: Mapping[str, Sequence[Running]],
) -> dict[str, int | None]:
    """A host that runs counts by its own lines, where it logs any: its job may go on without it."""
    now = {(one.run_id, one.attempt) for found in running.values() for one in found}
    by_attempt = {name: one.last_ns for name, one in took_part.items()}
    return {**by_attempt, **hosts_heard(now, names)}


def _record(blamed: Sequence[Blamed], took_part: Attendance) -> Record:
    return Record(
        blamed_attempts=len({(one.run_id, one.attempt) for one in blamed}),
        blamed_runs=len({one.run_id for one in blamed}),
        attempts=took_part.attempts,
        runs=took_part.runs,
    )


@dataclass(frozen=True, slots=True)
class Fleet:
    """The fleet in numbers. groups: those in trouble first. more_groups: left out here."""

    groups: Sequence[GroupCount]
    more_groups: int
    counts: Mapping[str, int]
    total: int


def fleet() -> Fleet:
    """Every host counted. One statement."""
    found = hosts_store.groups()
    counts = {
        state.value: sum(group.counts.get(state, 0) for group in found) for state in HostState
    }
    shown = found[:SHOWN_GROUPS]
    return Fleet(shown, len(found) - len(shown), counts, sum(counts.values()))


def of_run(key: str) -> list[str] | None:
    """The hosts of the newest attempt of a run; None if there is no such run."""
    run = runs.get_run(key)
    newest = runs.attempt(run.id, None) if run is not None else None
    if run is None:
        return None
    return parts.hosts_of_attempt(run.id, newest.number) if newest is not None else []


def place_of(text: str) -> Place | None:
    """Where a page begins, of `mark`; None for anything else."""
    urgency, _, rest = text.partition("~")
    score, _, name = rest.partition("~")
    try:
        return Place(int(urgency), float(score), name) if name else None
    except ValueError:
        return None


def mark(host: HostInfo) -> str:
    """Where the page behind a host begins, as text."""
    return f"{host.urgency}~{host.log2_score!r}~{host.name}"
