"""Every statement against the tables of incidents."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from django.db.models import Q

from apps.core.plain import packed
from apps.core.records import Finding as FindingRecord
from apps.core.records import FindingSeverity, Suspect
from apps.incidents.domain.incident import (
    EarliestSignal,
    Hypothesis,
    IncidentInfo,
    IncidentState,
    Resolution,
)
from apps.incidents.domain.state import Standing
from apps.incidents.domain.summary import Summary
from apps.incidents.models import Finding, Incident, IncidentEvent

MAX_PAGE = 200
MAX_FINDINGS = 2_000
MAX_LIVE = 500
MAX_WAITING = 1_000
_WAITING = [IncidentState.OPEN.value, IncidentState.ACKNOWLEDGED.value]
_FINDING_FIELDS = (
    "attempt",
    "detector",
    "kind",
    "severity",
    "onset_step",
    "onset_time_ns",
    "seen_step",
    "seen_time_ns",
    "closed_step",
    "closed_time_ns",
    "title",
    "series",
    "rank",
    "node",
)
_FINDING_JSON = ("evidence", "suspects", "facts")


@dataclass(frozen=True, slots=True)
class IncidentQuery:
    """Which incidents, newest first. before: only ids below this one (keyset paging)."""

    run_id: int | None = None
    state: str | None = None
    limit: int = 50
    before: int | None = None


@dataclass(frozen=True, slots=True)
class EventInfo:
    """One line of an incident's history."""

    at_ns: int
    key: str
    text: str
    actor: str


def as_stored(finding: FindingRecord) -> FindingRecord:
    """The finding as it will be read back, so that it can be compared with a stored one."""
    return msgspec.convert(packed(finding), FindingRecord)


# -- findings


def findings(
    run_id: int, incident_id: int | None = None, *, limit: int = MAX_FINDINGS
) -> list[FindingRecord]:
    """Findings of a run, or of one incident, oldest first. -- uses ix_finding_incident"""
    rows = Finding.objects.filter(run_id=run_id)
    if incident_id is not None:
        rows = rows.filter(incident_id=incident_id)
    page = rows.order_by("onset_time_ns", "key")[: min(limit, MAX_FINDINGS)]
    return [_finding(row) for row in page]


def findings_by_incident(
    run_id: int, incident_ids: Iterable[int]
) -> dict[int, list[FindingRecord]]:
    """incident id -> all its findings: what is left out would be taken for new.

    -- uses ix_finding_incident
    """
    grouped: dict[int, list[FindingRecord]] = {}
    rows = Finding.objects.filter(run_id=run_id, incident_id__in=list(incident_ids))
    for row in rows.order_by("onset_time_ns", "key"):
        if row.incident_id is not None:
            grouped.setdefault(row.incident_id, []).append(_finding(row))
    return grouped


def findings_of_kind(run_id: int, kind: str, limit: int = MAX_FINDINGS) -> list[FindingRecord]:
    """The newest findings of a run that one kind of detector made. -- uses ix_finding_onset"""
    rows = Finding.objects.filter(run_id=run_id, kind=kind).order_by("-attempt", "-onset_time_ns")
    return [_finding(row) for row in rows[:limit]]


def save_findings(run_id: int, findings: Sequence[FindingRecord], incident_id: int | None) -> None:
    """Adds findings or replaces their older state. A finding never leaves its incident."""
    rows = [_finding_row(run_id, f, incident_id) for f in findings]
    Finding.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=["run_id", "key"],
        update_fields=[*_FINDING_FIELDS, *_FINDING_JSON, *(["incident_id"] if incident_id else [])],
    )


def _finding_row(run_id: int, finding: FindingRecord, incident_id: int | None) -> Finding:
    plain = {name: getattr(finding, name) for name in _FINDING_FIELDS}
    parts = {name: packed(getattr(finding, name)) for name in _FINDING_JSON}
    return Finding(run_id=run_id, key=finding.key, incident_id=incident_id, **plain, **parts)


def _finding(row: Finding) -> FindingRecord:
    plain = {name: getattr(row, name) for name in (*_FINDING_FIELDS, *_FINDING_JSON)}
    return msgspec.convert({"key": row.key, **plain}, FindingRecord)


# -- incidents


def live_incidents(run_id: int, attempt: int, resolved_after_ns: int) -> list[IncidentInfo]:
    """Unresolved incidents of an attempt and those resolved after the given time, oldest first.

    The newest MAX_LIVE of them. -- uses ix_incident_attempt
    """
    recent = Q(resolved_at_ns__isnull=True) | Q(resolved_at_ns__gte=resolved_after_ns)
    rows = Incident.objects.filter(recent, run_id=run_id, attempt=attempt).order_by("-id")
    return [_info(row) for row in rows[:MAX_LIVE]][::-1]


def onset_ns(run_id: int, attempt: int) -> int | None:
    """When the newest incident of an attempt began; None if it has none.

    -- uses ix_incident_attempt
    """
    rows = Incident.objects.filter(run_id=run_id, attempt=attempt).order_by("-id")
    return rows.values_list("onset_time_ns", flat=True).first()


def homes(run_id: int, keys: Sequence[str]) -> set[int]:
    """The incidents that already hold a finding with one of these keys. -- uses the primary key"""
    rows = Finding.objects.filter(run_id=run_id, key__in=keys, incident_id__isnull=False)
    return {ref for ref in rows.values_list("incident_id", flat=True) if ref is not None}


def get(incident_id: int) -> IncidentInfo | None:
    """One incident. -- uses ix_incident_id"""
    row = Incident.objects.filter(id=incident_id).first()
    return _info(row) if row else None


def get_many(run_id: int, incident_ids: Iterable[int]) -> list[IncidentInfo]:
    """Some incidents of a run, oldest first. -- uses ix_incident_id"""
    rows = Incident.objects.filter(run_id=run_id, id__in=list(incident_ids)).order_by("id")
    return [_info(row) for row in rows]


def list_incidents(query: IncidentQuery) -> list[IncidentInfo]:
    """Newest first. -- uses the primary key or ix_incident_state"""
    rows = Incident.objects.order_by("-id")
    if query.run_id is not None:
        rows = rows.filter(run_id=query.run_id)
    if query.state is not None:
        rows = rows.filter(state=query.state)
    if query.before is not None:
        rows = rows.filter(id__lt=query.before)
    return [_info(row) for row in rows[: max(0, min(query.limit, MAX_PAGE))]]


def paging(resolved_after_ns: int, limit: int = 500) -> list[IncidentInfo]:
    """Paging incidents that are not resolved, or were after the given time, newest first.

    For the alert re-scan. -- uses ix_incident_page
    """
    recent = Q(resolved_at_ns__isnull=True) | Q(resolved_at_ns__gte=resolved_after_ns)
    rows = Incident.objects.filter(recent, page=True).order_by("-id")
    return [_info(row) for row in rows[:limit]]


def waiting(run_ids: Collection[int]) -> list[IncidentInfo]:
    """Incidents of these runs that wait for somebody, newest first, at most MAX_WAITING.

    -- uses ix_incident_attempt or ix_incident_state
    """
    rows = Incident.objects.filter(run_id__in=list(run_ids), state__in=_WAITING).order_by("-id")
    return [_info(row) for row in rows[:MAX_WAITING]]


def attempts_waiting() -> set[tuple[int, int]]:
    """(run, attempt) with an incident that waits for somebody. -- uses ix_incident_state"""
    rows = Incident.objects.filter(state__in=_WAITING).values_list("run_id", "attempt")
    return set(rows.distinct())


def open_count() -> int:
    """How many incidents wait for somebody. -- uses ix_incident_state"""
    return Incident.objects.filter(state__in=_WAITING).count()


def add_incident(run_id: int, attempt: int, summary: Summary, opened_at_ns: int) -> int:
    """A new open incident's id."""
    row = Incident.objects.create(
        run_id=run_id,
        attempt=attempt,
        state=IncidentState.OPEN.value,
        opened_at_ns=opened_at_ns,
        **_columns(summary, page=summary.page),
    )
    return row.id


def save_summary(info: IncidentInfo, summary: Summary) -> None:
    """The newer summary of an incident. A page stays a page: its mail may be out already."""
    page = info.page or summary.page
    columns = _columns(summary, page=page)
    if page:
        columns["severity"] = FindingSeverity.PAGE.value
    Incident.objects.filter(run_id=info.run_id, id=info.id).update(**columns)


def save_earliest(
    run_id: int, incident_id: int, signal: EarliestSignal | None, look_again_step: int | None
) -> bool:
    """The earliest moved signal of an incident; whether it is another one than before."""
    rows = Incident.objects.filter(run_id=run_id, id=incident_id)
    before = rows.values_list("earliest", flat=True).first()
    after = packed(signal)
    rows.update(earliest=after, look_again_step=look_again_step)
    return bool(after != before)


def to_look_again(run_id: int, attempt: int, newest_step: int) -> list[IncidentInfo]:
    """Unresolved incidents whose earliest signal is not final. -- uses ix_incident_attempt"""
    rows = Incident.objects.filter(
        run_id=run_id,
        attempt=attempt,
        state__in=["open", "acknowledged"],
        look_again_step__lte=newest_step,
    )
    return [_info(row) for row in rows.order_by("id")[:MAX_LIVE]]


def _columns(summary: Summary, *, page: bool) -> dict[str, Any]:
    return {
        "kind": summary.kind,
        "severity": summary.severity.value,
        "page": page,
        "onset_step": summary.onset_step,
        "onset_time_ns": summary.onset_time_ns,
        "title": summary.title,
        "cause_hint": summary.cause_hint,
        "series": summary.series,
        "suspects": packed(summary.suspects),
        "hypotheses": packed(summary.hypotheses),
        "settled": summary.settled,
        "finding_count": summary.finding_count,
    }


def lock(run_id: int, incident_id: int) -> IncidentInfo | None:
    """One incident, locked until the transaction ends. -- uses the primary key"""
    rows = Incident.objects.select_for_update().filter(run_id=run_id, id=incident_id)
    row = rows.first()
    return _info(row) if row else None


def save_state(info: IncidentInfo, standing: Standing, now_ns: int, actor: str = "") -> None:
    """The only place that writes the state of an incident."""
    fields: dict[str, Any] = {"state": standing.state.value, "resolution": standing.resolution}
    if standing.state is IncidentState.RESOLVED:
        fields["resolved_at_ns"] = now_ns
    if standing.state is IncidentState.ACKNOWLEDGED:
        fields |= {"acknowledged_at_ns": now_ns, "acknowledged_by": actor[:200]}
    if standing.state is IncidentState.OPEN:
        fields |= {"resolved_at_ns": None, "reopened": info.reopened + 1}
    Incident.objects.filter(run_id=info.run_id, id=info.id).update(**fields)


def _info(row: Incident) -> IncidentInfo:
    return IncidentInfo(
        id=row.id,
        run_id=row.run_id,
        attempt=row.attempt,
        kind=row.kind,
        severity=FindingSeverity(row.severity),
        page=row.page,
        state=IncidentState(row.state),
        onset_step=row.onset_step,
        onset_time_ns=row.onset_time_ns,
        title=row.title,
        cause_hint=row.cause_hint,
        suspects=msgspec.convert(row.suspects, tuple[Suspect, ...]),
        opened_at_ns=row.opened_at_ns,
        resolved_at_ns=row.resolved_at_ns,
        resolution=Resolution(row.resolution).value,
        earliest_signal=_signal(row.earliest),
        finding_count=row.finding_count,
        series=row.series,
        hypotheses=msgspec.convert(row.hypotheses, tuple[Hypothesis, ...]),
        settled=row.settled,
        acknowledged_at_ns=row.acknowledged_at_ns,
        acknowledged_by=row.acknowledged_by,
        reopened=row.reopened,
    )


def _signal(stored: Any) -> EarliestSignal | None:
    return msgspec.convert(stored, EarliestSignal) if stored else None


# -- history


def add_events(run_id: int, incident_id: int, events: Sequence[EventInfo]) -> None:
    """Lines of history; keys that are there already are left as they are."""
    IncidentEvent.objects.bulk_create(
        [
            IncidentEvent(
                run_id=run_id,
                incident_id=incident_id,
                key=e.key,
                at_ns=e.at_ns,
                text=e.text,
                actor=e.actor[:200],
            )
            for e in events
        ],
        ignore_conflicts=True,
    )


def events(run_id: int, incident_id: int) -> list[EventInfo]:
    """The history of an incident, oldest first. -- uses the primary key"""
    rows = IncidentEvent.objects.filter(run_id=run_id, incident_id=incident_id)
    return [
        EventInfo(at_ns=row.at_ns, key=row.key, text=row.text, actor=row.actor)
        for row in rows.order_by("at_ns", "key")[:MAX_FINDINGS]
    ]
