"""What the first-failure rule reads, and where it stands."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict

from apps.logs.domain.triage.assemble import SKEW_NS, EventRow
from apps.logs.domain.triage.ranks import RankState
from apps.logs.domain.triage.settle import TriageState
from apps.logs.models import Event, RankLog, Source, Triage
from apps.logs.store.reading import MAX_RANKS
from apps.logs.store.states import state_of

MAX_EVENTS = 10_000


def take_triage(run_id: int, attempt: int) -> TriageState | None:
    """The state, locked until the transaction ends; None if nothing ever went wrong."""
    row = (
        Triage.objects.select_for_update()  # -- uses the primary key
        .filter(run_id=run_id, attempt=attempt)
        .first()
    )
    if row is None:
        return None
    return TriageState(
        dirty=row.dirty,
        waiting_since_ns=row.waiting_since_ns,
        confirmed_ns=row.confirmed_ns,
        changed_ns=row.changed_ns,
        look_again_ns=row.look_again_ns,
        fingerprint=row.fingerprint,
        settled=row.settled,
        taxonomy_version=row.taxonomy_version,
    )


def save_triage(run_id: int, attempt: int, state: TriageState) -> None:
    """Replaces the state that take_triage() locked."""
    Triage.objects.filter(run_id=run_id, attempt=attempt).update(**asdict(state))


def look_again_ns(run_id: int, attempt: int) -> int | None:
    """When the attempt must be triaged again although nothing arrives."""
    found = Triage.objects.filter(run_id=run_id, attempt=attempt)
    return found.values_list("look_again_ns", flat=True).first()


def rank_states(run_id: int, attempt: int) -> list[RankState]:
    """All processes of an attempt. -- uses the primary key"""
    rows = RankLog.objects.filter(run_id=run_id, attempt=attempt).order_by("node", "slot")
    return [state_of(row) for row in rows[:MAX_RANKS]]


def event_rows(run_id: int, attempt: int, states: Iterable[RankState]) -> list[EventRow]:
    """Warnings and errors since the job's last step (less the clock tolerance), newest MAX_EVENTS.

    -- uses ix_event_time and the primary key of sources
    """
    newest = max((s.progress_ns for s in states if s.progress_ns is not None), default=None)
    rows = Event.objects.filter(run_id=run_id, attempt=attempt)
    if newest is not None:
        rows = rows.filter(time_ns__gte=newest - SKEW_NS)
    # Tuples, not objects: an error storm brings thousands of rows.
    found = rows.order_by("-time_ns").values_list(
        "time_ns",
        "node",
        "source_id",
        "channel",
        "seq",
        "local_rank",
        "rank",
        "severity",
        "text",
        "message_at",
    )
    events = list(found[:MAX_EVENTS])
    files = Source.objects.filter(run_id=run_id, source_id__in={event[2] for event in events})
    names = dict(files.values_list("source_id", "name"))
    return [
        EventRow(when, node, names.get(source, ""), channel, seq, local, rank, level, text[at:])
        for when, node, source, channel, seq, local, rank, level, text, at in events
    ]
