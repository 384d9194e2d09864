"""Incidents, one by one and by run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import msgspec
from django.db.models import Q

from apps.core.plain import packed
from apps.core.records import Finding as FindingRecord
from apps.core.records import FindingSeverity, Suspect
from apps.incidents.domain.incident import (
    UNRESOLVED,
    EarliestSignal,
    Hypothesis,
    IncidentInfo,
    IncidentState,
    Resolution,
)
from apps.incidents.domain.state import Standing
from apps.incidents.domain.summary import Summary
from apps.incidents.models import Finding, Incident

MAX_LIVE = 500
MAX_WAITING = 1_000
_WAITING = [state.value for state in UNRESOLVED]


def live_incidents(run_id: int, attempt: int, resolved_after_ns: int) -> list[IncidentInfo]:
    """Unresolved incidents of an attempt and those resolved after the given time, oldest first;
    those that relapsed in it too.

    The newest MAX_LIVE of them. -- uses the primary key
    """
    recent = Q(resolved_at_ns__isnull=True) | Q(resolved_at_ns__gte=resolved_after_ns)
    here = Q(attempt=attempt) | Q(relapsed_attempt=attempt)
    rows = Incident.objects.filter(recent, here, run_id=run_id).order_by("-id")
    return [info_of(row) for row in rows[:MAX_LIVE]][::-1]


def earlier_incidents(
    run_id: int, attempt: int, resolved_after_ns: int, limit: int = 20
) -> list[IncidentInfo]:
    """Paging incidents of earlier attempts that may come back in this one, newest first: not over,
    or resolved after the given time. -- uses the primary key"""
    recent = Q(resolved_at_ns__isnull=True) | Q(resolved_at_ns__gte=resolved_after_ns)
    rows = Incident.objects.filter(recent, run_id=run_id, attempt__lt=attempt, page=True).exclude(
        relapsed_attempt=attempt
    )
    return [info_of(row) for row in rows.order_by("-id")[:limit]]


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
    return info_of(row) if row else None


def get_many(run_id: int, incident_ids: Iterable[int]) -> list[IncidentInfo]:
    """Some incidents of a run, oldest first. -- uses ix_incident_id"""
    rows = Incident.objects.filter(run_id=run_id, id__in=list(incident_ids)).order_by("id")
    return [info_of(row) for row in rows]


def paging(resolved_after_ns: int, limit: int = 500) -> list[IncidentInfo]:
    """Paging incidents that are not resolved, or were after the given time, newest first.

    For the alert re-scan. -- uses ix_incident_page
    """
    recent = Q(resolved_at_ns__isnull=True) | Q(resolved_at_ns__gte=resolved_after_ns)
    rows = Incident.objects.filter(recent, page=True).order_by("-id")
    return [info_of(row) for row in rows[:limit]]


def waiting(run_ids: Collection[int], limit: int = MAX_WAITING) -> list[IncidentInfo]:
    """Incidents of these runs that are not over, newest first, at most `limit`.

    -- uses ix_incident_attempt or ix_incident_state
    """
    rows = Incident.objects.filter(run_id__in=list(run_ids), state__in=_WAITING).order_by("-id")
    return [info_of(row) for row in rows[:limit]]


def attempts_waiting() -> set[tuple[int, int]]:
    """(run, attempt) with an incident that is not over. -- uses ix_incident_state"""
    rows = Incident.objects.filter(state__in=_WAITING).values_list("run_id", "attempt")
    return set(rows.distinct())


def open_count() -> int:
    """How many incidents are not over. -- uses ix_incident_state"""
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


def save_extent(
    info: IncidentInfo, findings: Sequence[FindingRecord], suspects: Sequence[Suspect]
) -> None:
    """All findings and suspects of an incident, where the rest of its summary stays."""
    columns: dict[str, Any] = {"finding_count": len(findings), "suspects": packed(suspects)}
    if any(finding.page for finding in findings):
        columns |= {"page": True, "severity": FindingSeverity.PAGE.value}
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
        state__in=_WAITING,
        look_again_step__lte=newest_step,
    )
    return [info_of(row) for row in rows.order_by("id")[:MAX_LIVE]]


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
    return info_of(row) if row else None


def save_standing(info: IncidentInfo, standing: Standing) -> int:
    """The only place that writes what acts change; the number of this act, from 1."""
    fields = {name: getattr(standing, name) for name in Standing.__dataclass_fields__}
    fields["state"] = standing.state.value
    Incident.objects.filter(run_id=info.run_id, id=info.id).update(**fields, acts=info.acts + 1)
    return info.acts + 1


def info_of(row: Incident) -> IncidentInfo:
    """A row as a value."""
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
        owner=row.owner,
        mitigated_at_ns=row.mitigated_at_ns,
        silenced_until_ns=row.silenced_until_ns,
        silenced_by=row.silenced_by,
        silence_reason=row.silence_reason,
        relapsed_step=row.relapsed_step,
        relapsed_attempt=row.relapsed_attempt,
        relapsed_at_ns=row.relapsed_at_ns,
        acts=row.acts,
    )


def _signal(stored: Any) -> EarliestSignal | None:
    return msgspec.convert(stored, EarliestSignal) if stored else None
