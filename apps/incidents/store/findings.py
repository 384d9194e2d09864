"""Findings, written once and refined."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import msgspec
from django.db.models.functions import Coalesce

from apps.core.plain import packed
from apps.core.records import Finding as FindingRecord
from apps.core.records import FindingSeverity
from apps.incidents.models import Finding
from apps.logs.domain.triage.report import failure_key

MAX_FINDINGS = 2_000
MAX_SPANS = 200
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


def as_stored(finding: FindingRecord) -> FindingRecord:
    """The finding as it will be read back, so that it can be compared with a stored one."""
    return msgspec.convert(packed(finding), FindingRecord)


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


@dataclass(frozen=True, slots=True)
class FindingSpan:
    """From where to where a finding was seen. last_step: where it ended, or was seen last."""

    attempt: int
    title: str
    onset_step: int
    last_step: int


def spans(run_id: int, kinds: Collection[str], first: int, last: int) -> list[FindingSpan]:
    """The newest findings of these kinds that began at a step in [first, last] and are more than
    information, at most MAX_SPANS. -- uses ix_finding_onset"""
    rows = Finding.objects.filter(
        run_id=run_id, kind__in=list(kinds), onset_step__range=(first, last)
    ).exclude(severity=FindingSeverity.INFO.value)
    seen = Coalesce("closed_step", "seen_step", "onset_step")
    newest = rows.order_by("-attempt", "-onset_time_ns")
    return [
        FindingSpan(*row)
        for row in newest.values_list("attempt", "title", "onset_step", seen)[:MAX_SPANS]
    ]


def findings_by_key(run_id: int, keys: Collection[str]) -> list[FindingRecord]:
    """Those of the findings that are stored. -- uses the primary key"""
    if not keys:
        return []
    return [_finding(row) for row in Finding.objects.filter(run_id=run_id, key__in=list(keys))]


def failed_rank(run_id: int, attempt: int) -> int | None:
    """The rank that the logs name as the first that failed, if any. -- uses the primary key"""
    rows = Finding.objects.filter(run_id=run_id, key=failure_key(attempt))
    return rows.values_list("rank", flat=True).first()


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
