"""Rollback orders as values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apps.accounts.records import Actor
from apps.core.records import Candidate, Evidence, Finding
from apps.incidents.domain.card import Card
from apps.incidents.domain.incident import EventInfo, IncidentInfo
from apps.incidents.domain.movers import Movers
from apps.incidents.domain.similar import Similar
from apps.incidents.domain.timeline import TimelineItem
from apps.rollbacks.domain.state import ACTIVE, WAITING, OrderState
from apps.runs.records import RunInfo


@dataclass(frozen=True, slots=True)
class RollbackPolicy:
    """The rules of a project. margin_steps: None for the rule of domain/margin.py.
    second_approver: another person has to agree before a launcher sees an order. version: 0 if
    nobody has changed them."""

    margin_steps: int | None = None
    second_approver: bool = False
    version: int = 0
    changed_at_ns: int = 0
    changed_by: str = ""


@dataclass(frozen=True, slots=True)
class RollbackRequest:
    """What somebody asks for.

    confirm: the step number as typed by a person. attempt: whose checkpoint; None: the one that
    the candidates name, else the newest. force: take a checkpoint that is no eligible candidate.
    supersede: replace the active order. skip_ranges: steps whose data to skip, both ends included.
    """

    run_key: str
    step: int
    attempt: int | None
    confirm: str
    reason: str
    idempotency_key: str
    actor: Actor
    incident_id: int | None = None
    force: bool = False
    supersede: bool = False
    exclude_nodes: tuple[str, ...] = ()
    skip_ranges: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class NewOrder:
    """An order, ready to be written."""

    idempotency_key: str
    incident_id: int | None
    kind: str
    onset_step: int | None
    from_attempt: int
    attempt: int
    step: int
    path: str
    inventory_digest: str
    exclude_nodes: tuple[str, ...]
    skip_ranges: tuple[tuple[int, int], ...]
    forced: bool
    reason: str
    actor: str
    requested_at_ns: int
    state: OrderState = OrderState.REQUESTED


@dataclass(frozen=True, slots=True)
class OrderInfo:
    """An order. attempt, step, path: the checkpoint. launch: who acknowledged it, "" if nobody.
    approver: who agreed to it, "" if nobody had to or has.

    resumed_attempt, resumed_step: the attempt that followed it and the first step that one logged.
    verdict: {"outcome", "evidence", "numbers"}, None before there is one.
    """

    id: int
    run_id: int
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
    exclude_nodes: tuple[str, ...]
    skip_ranges: tuple[tuple[int, int], ...]
    forced: bool
    reason: str
    actor: str
    requested_at_ns: int
    state: OrderState
    changed_at_ns: int
    launch: str
    resumed_attempt: int | None
    resumed_step: int | None
    verdict: Mapping[str, Any] | None
    approver: str = ""

    @property
    def active(self) -> bool:
        """Whether another order has to wait for this one."""
        return self.state in ACTIVE

    @property
    def waiting(self) -> bool:
        """Whether a launcher still has to obey it."""
        return self.state in WAITING

    @property
    def proposed(self) -> bool:
        """Whether another person has to agree first."""
        return self.state is OrderState.PROPOSED

    @property
    def label(self) -> str:
        """The name people use: RB-3."""
        return f"RB-{self.id}"


@dataclass(frozen=True, slots=True)
class OrderEventInfo:
    """One line of an order's history."""

    seq: int
    at_ns: int
    act: str
    before: str
    after: str
    actor: str
    why: str


@dataclass(frozen=True, slots=True)
class OrderChange:
    """What `watch` did or found. Names its incident, so that alerts can be planned from it.

    order_id None: the run recovered without an order. change: resumed, recovered, failed or noted.
    attempt: the attempt that was judged. resolves: the incident was resolved by this change.
    """

    run_id: int
    incident_id: int | None
    order_id: int | None
    attempt: int
    change: str
    evidence: tuple[Evidence, ...] = ()
    resolves: bool = False


@dataclass(frozen=True, slots=True)
class ResumePoint:
    """Where a launcher starts from. document: {"payload", "signature"}; body: it as JSON bytes.

    etag: strong, with its quotes. order_id, step: None if there is none.
    """

    document: dict[str, Any]
    body: bytes
    etag: str
    order_id: int | None
    step: int | None


@dataclass(frozen=True, slots=True)
class Account:
    """Everything that is known of one incident.

    missing: evidence that would help and is not there, in words. events: history, notes: what
    people wrote, both oldest first. orders: rollbacks ordered for this incident. card: None only
    for an incident without findings. movers: None while nobody has looked for them.
    """

    incident: IncidentInfo
    run: RunInfo
    findings: Sequence[Finding]
    timeline: Sequence[TimelineItem]
    candidates: Sequence[Candidate]
    missing: Sequence[str]
    orders: Sequence[OrderInfo]
    events: Sequence[EventInfo]
    notes: Sequence[EventInfo]
    similar: Sequence[Similar]
    card: Card | None = None
    movers: Movers | None = None
