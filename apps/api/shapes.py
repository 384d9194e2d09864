"""The answers of the API, for the documentation page and for checking what is sent.

Times are Unix nanoseconds UTC. A number that may be NaN or infinite is a number or the string
"NaN", "Infinity" or "-Infinity".
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from ninja import Schema

from apps.api.card_shapes import CardOut

Loose = float | Literal["NaN", "Infinity", "-Infinity"] | None


class ErrorOut(Schema):
    error: str
    where: str
    hint: str
    docs: str


class AttemptOut(Schema):
    number: int
    parent: int | None
    fork_step: int | None
    first_step: int | None
    last_step: int | None
    started_ns: int
    last_ns: int | None
    state: str
    exit_code: int | None


class RunOut(Schema):
    id: int
    key: str
    project: str
    state: str
    world_size: int | None
    created_at: datetime
    last_contact_at: datetime | None
    last_step: int | None
    silence_s: float | None
    usual_gap_s: float | None
    lag_s: float


class RunPage(Schema):
    items: list[RunOut]
    next: int | None


class RunDetail(RunOut):
    config: dict[str, Any]
    attempts: list[AttemptOut]


class AttemptList(Schema):
    items: list[AttemptOut]


class SeriesOut(Schema):
    key: str
    attempt: int
    rank: int | None
    step: list[int]
    time_ns: list[int]
    min: list[Loose]
    max: list[Loose]
    last: list[Loose]
    count: list[int]
    nonfinite: list[tuple[int, str]]
    points_stored: int
    points_drawn: int
    bucket_steps: int


class SeriesList(Schema):
    run: str
    series: list[SeriesOut]


class KeyOut(Schema):
    key: str
    ranks: bool
    last_step: int | None


class KeyList(Schema):
    items: list[KeyOut]


class RuleShape(Schema):
    pattern: str
    statistic: str = ""


class NamesOut(Schema):
    project: str
    version: int
    changed_at_ns: int
    changed_by: str
    roles: dict[str, str | None]
    rules: list[RuleShape]
    run: str | None
    counts_now: dict[str, str | None]


class LayersOut(Schema):
    layers: list[str]
    step_edges: list[int]
    value: list[list[Loose]]
    z: list[list[Loose]]
    places: list[str]
    series: list[list[str]]
    statistic: str | None
    left_out: int


class LineOut(Schema):
    time_ns: int
    seq: int
    source: str
    channel: str
    node: str | None
    rank: int | None
    local_rank: int | None
    severity: str
    step: int | None
    text: str


class LogPageOut(Schema):
    items: list[LineOut]
    next: str | None
    chunks_scanned: int
    chunks_total: int


class RankOut(Schema):
    rank: int | None
    node: str | None
    local_rank: int | None
    last_ns: int | None
    last_step: int | None
    worst_severity: str | None
    lines: int
    last_text: str


class RankList(Schema):
    world_size: int | None
    items: list[RankOut]
    missing: list[int]
    missing_count: int


class EvidenceOut(Schema):
    text: str
    weight: int
    time_ns: int | None
    step: int | None
    rank: int | None
    node: str | None


class SuspectOut(Schema):
    rank: int | None
    node: str | None
    fault_class: str
    confidence: float
    evidence: list[EvidenceOut]


class CandidateOut(Schema):
    step: int
    attempt: int
    path: str
    eligible: bool
    level: str
    reasons: list[EvidenceOut]
    lost_steps: int
    lost_gpu_hours: float | None
    saved_at_ns: int
    size_bytes: int


class MoverOut(Schema):
    series: str
    step: int
    time_ns: int
    words: str
    lead_steps: int
    lead_s: float
    layer: str | None
    statistic: str
    rank: int | None
    before: float | None
    value: float | None
    z: float | None


class MoversOut(Schema):
    items: list[MoverOut]
    moved: int
    anchor_step: int
    anchor_ns: int
    by_loss: bool
    looked_at: int
    left_out: int
    layered: bool


class SilenceOut(Schema):
    until_ns: int | None
    until_resolved: bool
    by: str
    reason: str


class HistoryLineOut(Schema):
    at_ns: int
    what: str
    text: str
    actor: str


class HistoryOut(Schema):
    items: list[HistoryLineOut]


class IncidentOut(Schema):
    id: int
    run: str
    attempt: int
    kind: str
    severity: str
    page: bool
    state: str
    onset_step: int | None
    onset_time_ns: int
    title: str
    cause_hint: str
    opened_at_ns: int
    resolved_at_ns: int | None
    resolution: str
    owner: str
    acknowledged_at_ns: int | None
    acknowledged_by: str
    mitigated_at_ns: int | None
    silence: SilenceOut | None
    reopened: int
    relapsed_step: int | None
    relapsed_attempt: int | None
    earliest_signal: dict[str, Any] | None
    finding_count: int
    settled: bool
    suspects: list[SuspectOut]
    candidates: list[CandidateOut]
    movers: MoversOut | None = None
    card: CardOut | None = None


class IncidentPage(Schema):
    items: list[IncidentOut]
    next: int | None


class OrderEventOut(Schema):
    seq: int
    at_ns: int
    act: str
    before: str
    after: str
    actor: str
    why: str


class OrderOut(Schema):
    id: int
    idempotency_key: str
    incident_id: int | None
    kind: str
    onset_step: int | None
    from_attempt: int
    attempt: int
    step: int
    path: str
    inventory_digest: str
    branch_dir: str
    exclude_nodes: list[str]
    skip_ranges: list[tuple[int, int]]
    forced: bool
    reason: str
    actor: str
    requested_at_ns: int
    state: str
    active: bool
    changed_at_ns: int
    launch: str
    approver: str
    resumed_attempt: int | None
    resumed_step: int | None
    verdict: dict[str, Any] | None
    history: list[OrderEventOut]


class OrderList(Schema):
    items: list[OrderOut]


class StopOut(Schema):
    number: int
    attempt: int
    state: str
    active: bool
    actor: str
    reason: str
    requested_at_ns: int
    delivered_at_ns: int | None
    ended_at_ns: int | None


class StopList(Schema):
    items: list[StopOut]


class ResumePointOut(Schema):
    payload: dict[str, Any]
    signature: dict[str, str]


class MissingLinesOut(Schema):
    """Lines first_line to last_line, both included. command: brings them back, run on node."""

    attempt: int
    file: str
    first_line: int
    last_line: int
    lines: int
    node: str
    command: str


class IngestOut(Schema):
    run: str
    pending: int | None
    pending_bytes: int | None
    oldest_age_s: float | None
    behind: int
    waits: bool
    quarantined: int
    gaps: int
    missing: list[MissingLinesOut]
    counters: dict[str, int]
    refused: dict[str, int]


class QuarantinedOut(Schema):
    id: int
    run: str | None
    batch_id: str
    endpoint: str
    token: str
    received_ns: int
    reason: str
    where: str
    hint: str
    body_bytes: int


class QuarantinePage(Schema):
    items: list[QuarantinedOut]
    next: int | None
