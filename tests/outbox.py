"""The outbox as plain values: what `apps.alerts.store` does to it, without a database."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from apps.alerts.domain.lifecycle import DEFAULT_READER, Reader, decide
from apps.alerts.domain.message import DONE, Kind, Message, Status
from apps.alerts.domain.timing import DEFAULT_POLICY, AlertPolicy, over, ready_ns
from apps.incidents.domain.incident import IncidentInfo


@dataclass
class Outbox:
    """One recipient's messages about one incident. sent: (kind, seq, when) of every mail, in
    order."""

    policy: AlertPolicy = DEFAULT_POLICY
    reader: Reader = DEFAULT_READER
    messages: dict[tuple[Kind, int], Message] = field(default_factory=dict)
    sent: list[tuple[Kind, int, int]] = field(default_factory=list)

    def plan(self, incident: IncidentInfo, now_ns: int) -> None:
        """Bring the messages up to date with the incident."""
        decision = decide(incident, self.messages.values(), now_ns, self.policy, reader=self.reader)
        for wanted in decision.wanted:
            key = (wanted.kind, wanted.seq)
            if key not in self.messages or self.messages[key].status not in DONE:
                self.messages[key] = Message(
                    *key, Status.PENDING, wanted.due_ns, urgent=wanted.urgent
                )
        for key in decision.withdrawn:
            if self.messages[key].status is Status.PENDING:
                self.messages[key] = replace(self.messages[key], status=Status.WITHDRAWN)

    def send(self, incident: IncidentInfo, now_ns: int) -> list[Kind]:
        """What a worker sends now; what is put off waits, what makes no sense is withdrawn."""
        due = [m for m in self.messages.values() if self._due(m, now_ns)]
        gone = []
        for message in sorted(due, key=lambda m: m.due_ns):
            ready = ready_ns(message.kind, incident, now_ns)
            if ready is None:
                self._put(replace(message, status=Status.WITHDRAWN))
            elif ready > now_ns:
                self._put(replace(message, due_ns=ready))
            else:
                self._tell(message, incident, now_ns)
                gone.append(message.kind)
        return gone

    def _tell(self, message: Message, incident: IncidentInfo, now_ns: int) -> None:
        self._put(replace(message, status=Status.SENT, told_ns=now_ns))
        self.sent.append((message.kind, message.seq, now_ns))
        if message.kind is Kind.OPENING and over(incident, now_ns, self.policy):
            folded = Message(Kind.CLOSING, message.seq, Status.FOLDED, now_ns, told_ns=now_ns)
            self._put(folded)

    def _put(self, message: Message) -> None:
        self.messages[message.kind, message.seq] = message

    @staticmethod
    def _due(message: Message, now_ns: int) -> bool:
        return message.status is Status.PENDING and (message.due_ns or 0) <= now_ns

    def turn(self, incident: IncidentInfo, now_ns: int) -> list[Kind]:
        """What the periodic job does: send, plan, send, plan."""
        first = self.send(incident, now_ns)
        self.plan(incident, now_ns)
        second = self.send(incident, now_ns)
        self.plan(incident, now_ns)
        return [*first, *second]

    def kinds(self) -> list[Kind]:
        """The kinds of the mails that were sent."""
        return [kind for kind, _, _ in self.sent]
