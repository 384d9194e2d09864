"""Messages: planned in the transaction of their cause; `sending` sends them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Protocol

from apps.alerts import routing, store
from apps.alerts.domain import lifecycle, timing
from apps.alerts.domain.lifecycle import Reader
from apps.alerts.domain.message import Message, Status, announced, unreachable
from apps.alerts.domain.routing import channel_id
from apps.alerts.domain.timing import AlertPolicy
from apps.alerts.store import Address
from apps.core.queue import Job, enqueue
from apps.core.records import FindingSeverity
from apps.incidents import store as incidents
from apps.incidents.domain.incident import IncidentInfo
from apps.metrics import naming

log = logging.getLogger(__name__)

_WOKEN_WITHIN_S = 60.0
"""What is due later than this waits for the periodic `send`."""


class Touched(Protocol):
    """A change that names its incident, such as `IncidentChange`."""

    @property
    def run_id(self) -> int: ...

    @property
    def incident_id(self) -> int | None: ...


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
    wait_s = max(0.0, (min(due, default=now_ns) - now_ns) / timing.SECOND_NS)
    if due and wait_s <= _WOKEN_WITHIN_S:
        enqueue(Job.ALERTS_SEND, delay_s=wait_s)
    return len(due)


def sweep(now_ns: int, policy: AlertPolicy = timing.DEFAULT_POLICY) -> int:
    """Plan for every paging incident of the last day, whoever forgot to; rows that changed.

    Also the place where reminders come from. An incident that cannot be planned is logged and
    keeps no other from its messages. Statements as in `plan`.
    """
    since_ns = now_ns - timing.ns(policy.late_s)
    planner = _Planner(incidents.paging(since_ns), now_ns)
    return sum(planner.try_one(incident) for incident in planner.incidents)


class _Planner:
    """Plans for some incidents; what it has to read for all of them it reads once."""

    def __init__(self, found: Sequence[IncidentInfo], now_ns: int) -> None:
        self.incidents = [i for i in found if i.severity is not FindingSeverity.INFO]
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
        if timing.forgotten(incident, told, self.now_ns):
            return 0
        try:
            return len(self.plan(incident))
        except Exception:
            log.exception("alerts.plan_failed", extra={"incident": incident.id})
            return 0

    def plan(self, incident: IncidentInfo) -> list[int]:
        """When the rows of one incident that changed are due."""
        existing, routed = self.existing[incident.id], self.routes[incident.id].recipients
        everybody = sorted({*routed, *existing})
        told = all(announced(existing.get(to, [])) for to in everybody)
        ranked = not told and _ranks_logged(incident)
        return [
            due_ns
            for to in everybody
            for due_ns in _plan_for(
                incident, to, existing.get(to, []), self.now_ns, Reader(to in routed, ranked)
            )
        ]

    def _broken(self, incident: IncidentInfo) -> list[str]:
        """Recipients that could not be told of the incident: somebody else has to be."""
        told = self.existing[incident.id]
        return [to for to, messages in told.items() if unreachable(messages)]


def _ranks_logged(incident: IncidentInfo) -> bool:
    """Whether a rank may yet stand apart; asked of the database only where that matters."""
    if not timing.awaits_suspect(incident):
        return False
    return naming.roles_of(incident.run_id).rank_loss is not None


def plan_again(address: Address, now_ns: int) -> None:
    """What follows for one recipient from a message that was sent.

    A worker runs this outside of a transaction and only for the recipient it has served, so that
    it cannot wait in a circle with a writer or another worker.
    """
    for incident in incidents.get_many(address.run_id, [address.incident_id]):
        existing = store.messages([(address.run_id, address.incident_id)])[incident.id]
        _plan_for(incident, address.recipient, existing[address.recipient], now_ns, Reader())


def _plan_for(
    incident: IncidentInfo,
    recipient: str,
    existing: Sequence[Message],
    now_ns: int,
    reader: Reader,
) -> list[int]:
    """One recipient's messages: when those that changed are due."""
    address = Address(incident.run_id, incident.id, recipient)
    decision = lifecycle.decide(incident, existing, now_ns, reader=reader)
    asked = list(decision.wanted)
    if channel_id(recipient) is not None:
        asked += lifecycle.follow(incident, existing, now_ns)
    waiting = {(m.kind, m.seq, m.due_ns, m.urgent) for m in existing if m.status is Status.PENDING}
    wanted = [w for w in asked if (w.kind, w.seq, w.due_ns, w.urgent) not in waiting]
    planned = [w.due_ns for w in wanted if store.plan(address, w, now_ns)]
    for kind, seq in decision.withdrawn:
        store.withdraw(address, kind, seq)
    return planned
