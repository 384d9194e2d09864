"""Messages: planned in the transaction of their cause, sent by a worker, never lost."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar
from urllib.parse import urlsplit

from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.db import transaction

from apps.alerts import delivering, routing, store
from apps.alerts.domain import lifecycle, mail
from apps.alerts.domain.lifecycle import AlertPolicy, Kind, Message, Status
from apps.alerts.domain.mail import MailFacts
from apps.alerts.domain.note import note_of
from apps.alerts.domain.routing import channel_id
from apps.alerts.store import Address, Claimed
from apps.alerts.transports.email import message, plot
from apps.alerts.transports.email.transport import (
    DEFAULT_RETRY,
    SMTP_ANSWERS,
    RetryPolicy,
    hand_over,
)
from apps.core.clock import now_ns as clock_ns
from apps.core.queue import Job, enqueue
from apps.core.records import Candidate
from apps.incidents import store as incidents
from apps.incidents.domain.incident import IncidentInfo
from apps.metrics import naming
from apps.metrics import store as metrics
from apps.runs import store as runs

log = logging.getLogger(__name__)

_SECOND_NS = 1_000_000_000
_PLOT_STEPS = 150
_WOKEN_WITHIN_S = 60.0
"""What is due later than this waits for the periodic `send`."""
T = TypeVar("T")
Candidates = Callable[[int, IncidentInfo], Sequence[Candidate]]


class Touched(Protocol):
    """A change that names its incident, such as `IncidentChange`."""

    @property
    def run_id(self) -> int: ...

    @property
    def incident_id(self) -> int | None: ...


@dataclass(frozen=True, slots=True)
class SendPolicy:
    """How messages are handed over.

    retry: at once; when that fails the message waits backoff_s * 2^tries, at most backoff_max_s.
    lease_s: how long a claim holds, renewed before each try; longer than the slowest try, because
    after it another worker sends the message. limit, budget_s: messages and time of one call, so
    that a mail server that is away does not keep a worker from its other jobs.
    """

    retry: RetryPolicy = DEFAULT_RETRY
    backoff_s: float = 15.0
    backoff_max_s: float = 3600.0
    lease_s: float = 180.0
    limit: int = 100
    budget_s: float = 60.0

    @property
    def lease_ns(self) -> int:
        """The lease, whatever time-out is set for the mail server."""
        slowest_s = (SMTP_ANSWERS + 1) * float(settings.EMAIL_TIMEOUT or 0)
        return int(max(self.lease_s, slowest_s) * _SECOND_NS)


DEFAULT_SENDING = SendPolicy()


# -- planning


def plan(changes: Sequence[Touched], now_ns: int) -> int:
    """Outbox rows for the changed incidents, in the caller's transaction; how many changed.

    Looks at the incidents as they are now, not at what the changes say, so that it may be
    repeated. A worker is woken on commit, and when what must wait a little is due; should that
    fail, the periodic `send` finds the rows. Two statements, those of `routing.routes`, and one a
    row that is planned.
    """
    touched: dict[int, set[int]] = {}
    for change in changes:
        if change.incident_id is not None:
            touched.setdefault(change.run_id, set()).add(change.incident_id)
    found = [i for run_id in sorted(touched) for i in incidents.get_many(run_id, touched[run_id])]
    due = _Planner(found, now_ns).plan_all() if found else []
    wait_s = max(0.0, (min(due, default=now_ns) - now_ns) / _SECOND_NS)
    if due and wait_s <= _WOKEN_WITHIN_S:
        enqueue(Job.ALERTS_SEND, delay_s=wait_s)
    return len(due)


def sweep(now_ns: int, policy: AlertPolicy = lifecycle.DEFAULT_POLICY) -> int:
    """Plan for every paging incident of the last day, whoever forgot to; rows that changed.

    Also the place where reminders come from. An incident that cannot be planned is logged and
    keeps no other from its messages. Statements as in `plan`.
    """
    since_ns = now_ns - int(policy.late_s * _SECOND_NS)
    planner = _Planner(incidents.paging(since_ns), now_ns)
    return sum(planner.try_one(incident) for incident in planner.incidents)


class _Planner:
    """Plans for some incidents; what it has to read for all of them it reads once."""

    def __init__(self, found: Sequence[IncidentInfo], now_ns: int) -> None:
        self.incidents = [incident for incident in found if incident.page]
        self.now_ns = now_ns
        self.existing = store.messages([(i.run_id, i.id) for i in self.incidents])
        self.routes = routing.routes(
            self.incidents, {i.id: self._broken(i) for i in self.incidents}
        )

    def plan_all(self) -> list[int]:
        """When the rows that changed are due."""
        return [due_ns for incident in self.incidents for due_ns in self.plan(incident)]

    def try_one(self, incident: IncidentInfo) -> int:
        """How many rows changed."""
        told = [m for messages in self.existing[incident.id].values() for m in messages]
        if lifecycle.forgotten(incident, told, self.now_ns):
            return 0
        try:
            return len(self.plan(incident))
        except Exception:
            log.exception("alerts.plan_failed", extra={"incident": incident.id})
            return 0

    def plan(self, incident: IncidentInfo) -> list[int]:
        """When the rows of one incident that changed are due."""
        existing = self.existing[incident.id]
        everybody = sorted({*self.routes[incident.id].recipients, *existing})
        told = all(lifecycle.announced(existing.get(to, [])) for to in everybody)
        ranked = not told and _ranks_logged(incident)
        return [
            due_ns
            for to in everybody
            for due_ns in _plan_for(
                incident, to, existing.get(to, []), self.now_ns, ranks_logged=ranked
            )
        ]

    def _broken(self, incident: IncidentInfo) -> list[str]:
        """Recipients that could not be told of the incident: somebody else has to be."""
        told = self.existing[incident.id]
        return [to for to, messages in told.items() if lifecycle.unreachable(messages)]


def _ranks_logged(incident: IncidentInfo) -> bool:
    """Whether a rank may yet stand apart; asked of the database only where that matters."""
    if not lifecycle.awaits_suspect(incident):
        return False
    return naming.roles_of(incident.run_id).rank_loss is not None


def _plan_for(
    incident: IncidentInfo,
    recipient: str,
    existing: Sequence[Message],
    now_ns: int,
    *,
    ranks_logged: bool = False,
) -> list[int]:
    """One recipient's messages. A worker runs this outside of a transaction and only for the
    recipient it has served, so that it cannot wait in a circle with a writer or another worker."""
    address = Address(incident.run_id, incident.id, recipient)
    decision = lifecycle.decide(incident, existing, now_ns, ranks_logged=ranks_logged)
    asked = list(decision.wanted)
    if channel_id(recipient) is not None:
        asked += lifecycle.follow(incident, existing, now_ns)
    waiting = {(m.kind, m.seq, m.due_ns) for m in existing if m.status is Status.PENDING}
    wanted = [w for w in asked if (w.kind, w.seq, w.due_ns) not in waiting]
    planned = [w.due_ns for w in wanted if store.plan(address, w, now_ns)]
    for kind, seq in decision.withdrawn:
        store.withdraw(address, kind, seq)
    return planned


# -- sending


def send_due(
    candidates: Candidates,
    *,
    clock: Callable[[], int] = clock_ns,
    policy: SendPolicy = DEFAULT_SENDING,
) -> int:
    """Send what is due, oldest first; how many messages were sent.

    candidates: `rollbacks.services.candidates`, passed in because rollbacks lie above alerts.
    Every message is claimed and committed before it is sent. A worker that dies after the mail
    server's answer and before the commit of "sent" (a few milliseconds) makes another worker send
    it again when the claim runs out: at least once, with the same Message-ID, so that receivers
    that fold doubles show one. About 0.2 s a message, most of it the picture.
    """
    sent, end_ns = 0, clock() + int(policy.budget_s * _SECOND_NS)
    for _ in range(policy.limit):
        now_ns = clock()
        claimed = store.claim(now_ns, policy.lease_ns, 1) if now_ns < end_ns else []
        if not claimed:
            break
        sent += _deliver(claimed[0], candidates, clock, policy)
    return sent


def _deliver(
    claimed: Claimed, candidates: Candidates, clock: Callable[[], int], policy: SendPolicy
) -> bool:
    """Whether the message went out; whatever happens, the claim is settled."""
    try:
        facts = _facts(claimed, candidates, clock())
        if facts is None:
            store.mark_withdrawn(claimed)
            return False
        _hand_over(claimed, facts, clock, policy)
    except delivering.Never as error:
        log.warning("alerts.failed", extra={"address": claimed.address, "why": error.message})
        store.mark_failed(claimed, error.message)
        return False
    except delivering.NotNow as error:
        log.warning("alerts.not_now", extra={"address": claimed.address, "why": error.message})
        wait_s = max(_backoff_s(claimed, policy), error.wait_s or 0.0)
        store.put_back(claimed, clock() + int(wait_s * _SECOND_NS), error.message)
        return False
    except Exception as error:
        log.exception("alerts.send_failed", extra={"address": claimed.address})
        due_ns = clock() + int(_backoff_s(claimed, policy) * _SECOND_NS)
        store.put_back(claimed, due_ns, f"{type(error).__name__}: {error}")
        return False
    _settle(claimed, facts, clock())
    return True


def _hand_over(
    claimed: Claimed, facts: MailFacts, clock: Callable[[], int], policy: SendPolicy
) -> None:
    """By mail, or through the channel that the recipient stands for."""
    channel = channel_id(claimed.address.recipient)
    if channel is not None:
        delivering.send(channel, note_of(facts), claimed.planned_at_ns)
        return
    hand_over(
        _build(facts),
        policy.retry,
        before_retry=lambda: store.renew(claimed, clock() + policy.lease_ns),
    )


def _backoff_s(claimed: Claimed, policy: SendPolicy) -> float:
    return min(policy.backoff_s * 2.0 ** min(claimed.tries, 30), policy.backoff_max_s)


def _facts(claimed: Claimed, candidates: Candidates, now_ns: int) -> MailFacts | None:
    """What the message says, None if it lost its reason."""
    address = claimed.address
    found = incidents.get_many(address.run_id, [address.incident_id])
    if not found or not lifecycle.still_wanted(claimed.kind, found[0]):
        return None
    incident = found[0]
    over = claimed.kind is Kind.CLOSING or lifecycle.over(incident, now_ns)
    return MailFacts(
        kind=claimed.kind,
        seq=claimed.seq,
        incident=incident,
        run_key=runs.run_by_id(address.run_id).key,
        recipient=address.recipient,
        site_url=settings.PUBLIC_URL,
        host=urlsplit(settings.PUBLIC_URL).hostname or "localhost",
        now_ns=now_ns,
        over=over,
        subject=store.opening_subject(address),
        findings=tuple(incidents.findings(address.run_id, incident.id)),
        candidates=()
        if over
        else _optional(lambda: tuple(candidates(address.run_id, incident)), ()),
    )


def _build(facts: MailFacts) -> EmailMultiAlternatives:
    curve = _optional(lambda: _curve(facts.incident), None)
    png = _optional(lambda: plot.draw(curve), b"") if curve else b""
    told = replace(facts, plot_alt=plot.describe(curve)) if curve else facts
    return message.build(told, png, settings.DEFAULT_FROM_EMAIL)


def _optional(make: Callable[[], T], fallback: T) -> T:
    """A part of the message that must never keep it from being sent."""
    try:
        return make()
    except Exception:
        log.exception("alerts.part_failed")
        return fallback


def _curve(incident: IncidentInfo) -> plot.Curve | None:
    """The loss around the onset, or up to the end of a dead job; None if the run logs none."""
    loss = naming.roles_of(incident.run_id).loss
    if loss is None or incident.onset_step is None:
        return None
    first = max(0, incident.onset_step - _PLOT_STEPS)
    rows = metrics.read_rows(
        incident.run_id, incident.attempt, [loss], first, incident.onset_step + _PLOT_STEPS
    )
    if loss not in rows:
        return None
    step, _, value = rows[loss]
    return plot.Curve(loss, step, value, incident.onset_step)


def _settle(claimed: Claimed, facts: MailFacts, now_ns: int) -> None:
    """Record that it is sent, and then plan what follows from that.

    The planning has a transaction of its own: should it fail, the message still counts as sent
    and the periodic scan plans again.
    """
    base = facts.subject or mail.subject_of(facts.incident, facts.run_key)
    with transaction.atomic():
        store.mark_sent(claimed, base, now_ns)
        if claimed.kind is Kind.OPENING and facts.over:
            store.mark_folded(claimed.address, claimed.seq, now_ns)
    address = claimed.address
    for incident in incidents.get_many(address.run_id, [address.incident_id]):
        existing = store.messages([(address.run_id, address.incident_id)])[incident.id]
        _plan_for(incident, address.recipient, existing[address.recipient], now_ns)
