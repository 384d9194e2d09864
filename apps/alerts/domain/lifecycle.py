"""Which messages an incident needs, and when. No clock, no database."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from apps.alerts.domain.ending import after_silence, ended, left
from apps.alerts.domain.message import (
    OPENERS,
    Decision,
    Kind,
    Message,
    Messages,
    Status,
    Wanted,
    episode_of,
    opener_of,
    waiting,
)
from apps.alerts.domain.timing import (
    DEFAULT_POLICY,
    AlertPolicy,
    awaits_suspect,
    ns,
    opening_kind,
)
from apps.core.records import FindingSeverity
from apps.incidents.domain.incident import IncidentInfo, IncidentState


@dataclass(frozen=True, slots=True)
class Reader:
    """What matters about the recipient and the run.

    routed: a rule that the recipient has not left sends the incident there. ranks_logged: the run
    logs a loss per rank (see `AlertPolicy.suspect_s`).
    """

    routed: bool = True
    ranks_logged: bool = False


DEFAULT_READER = Reader()


def decide(
    incident: IncidentInfo,
    existing: Iterable[Message],
    now_ns: int,
    policy: AlertPolicy = DEFAULT_POLICY,
    reader: Reader = DEFAULT_READER,
) -> Decision:
    """What to add and what to withdraw for one recipient. Deciding twice gives the same.

    Each episode has one opening and one closing message; an incident that comes back before its
    closing message went out is still the same episode and sends nothing. An end that comes before
    the opening message was sent makes a page due at once: it then says so, and stands for the
    closing message too. While it is silenced everything waits, and what ended meanwhile without
    having been announced never is. Information sends nothing.
    """
    messages = {(m.kind, m.seq): m for m in existing}
    if not reader.routed or incident.severity is FindingSeverity.INFO:
        return left(incident, messages, now_ns, policy)
    if incident.state is IncidentState.RESOLVED:
        return ended(incident, messages, now_ns, policy)
    back = waiting(messages, Kind.CLOSING, episode_of(messages))
    attended = incident.state is not IncidentState.OPEN
    wanted = [
        *_opening(incident, messages, now_ns, _Waits(policy, reader.ranks_logged)),
        *_escalation(incident, messages, now_ns),
        *(() if attended else _reminder(incident, messages, policy)),
    ]
    reminders = waiting(messages, Kind.REMINDER) if attended else ()
    return Decision(after_silence(wanted, incident, now_ns), (*back, *reminders))


def follow(incident: IncidentInfo, existing: Iterable[Message], now_ns: int) -> list[Wanted]:
    """What a channel is told beside the messages of `decide`: that somebody has acknowledged.

    Once an episode, after its opening message has arrived.
    """
    messages = {(m.kind, m.seq): m for m in existing}
    episode = episode_of(messages)
    opener = opener_of(messages, episode)
    opened = opener is not None and opener.done
    known = (Kind.ACKNOWLEDGED, episode) in messages
    if not opened or known or incident.state is not IncidentState.ACKNOWLEDGED:
        return []
    return [Wanted(Kind.ACKNOWLEDGED, episode, now_ns)]


@dataclass(frozen=True, slots=True)
class _Waits:
    """How long an opening message waits for what would make it say more."""

    policy: AlertPolicy
    ranks_logged: bool

    def before(self, incident: IncidentInfo) -> int:
        """In nanoseconds from the opening of the incident."""
        if not incident.page:
            return ns(self.policy.group_s)
        wait_s = 0.0 if incident.settled else self.policy.settle_s
        if self.ranks_logged and awaits_suspect(incident):
            wait_s = max(wait_s, self.policy.suspect_s)
        return ns(wait_s)


def _opening(
    incident: IncidentInfo, messages: Messages, now_ns: int, waits: _Waits
) -> list[Wanted]:
    """The message that opens the present episode; brought forward when it turns into a page."""
    episode = episode_of(messages)
    opener = opener_of(messages, episode)
    if opener is not None and opener.status is not Status.PENDING:
        return []
    if episode == 0:
        due_ns = incident.opened_at_ns + waits.before(incident)
        return [Wanted(Kind.OPENING, 0, due_ns, incident.page)]
    due_ns = now_ns if incident.page else now_ns + ns(waits.policy.group_s)
    if opener is None:
        kind = opening_kind(messages, now_ns, waits.policy)
        return [Wanted(kind, episode, due_ns, incident.page)]
    return [Wanted(opener.kind, episode, _soonest(opener, due_ns), incident.page)]


def _soonest(message: Message, due_ns: int) -> int:
    return due_ns if message.due_ns is None else min(message.due_ns, due_ns)


def _escalation(incident: IncidentInfo, messages: Messages, now_ns: int) -> list[Wanted]:
    """The message that a warning somebody was told of needs a person now."""
    episode = episode_of(messages)
    opener, known = opener_of(messages, episode), messages.get((Kind.ESCALATION, episode))
    told_quietly = opener is not None and opener.done and not opener.urgent
    if not incident.page or not told_quietly or (known is not None and known.done):
        return []
    due_ns = now_ns if known is None else _soonest(known, now_ns)
    return [Wanted(Kind.ESCALATION, episode, due_ns)]


def _reminder(incident: IncidentInfo, messages: Messages, policy: AlertPolicy) -> list[Wanted]:
    """The next reminder, once a person was told to look: at the end of a silence, at once when what
    was done did not help, else an hour after that message and then every four hours."""
    callers = [messages.get((k, episode_of(messages))) for k in (*OPENERS, Kind.ESCALATION)]
    calls = [m for m in callers if m is not None and m.done and m.urgent]
    if not calls:
        return []
    called_ns = max(m.told_ns or incident.opened_at_ns for m in calls)
    past = [m for m in messages.values() if m.kind is Kind.REMINDER and m.done]
    since = [m.told_ns for m in past if m.told_ns is not None and m.told_ns >= called_ns]
    last_ns = max(since, default=called_ns)
    heard_ns = incident.silenced_until_ns
    if incident.relapsed_at_ns is not None and incident.relapsed_at_ns > last_ns:
        heard_ns = incident.relapsed_at_ns
    if heard_ns is None or heard_ns <= last_ns:
        heard_ns = last_ns + ns(policy.reminder_every_s if since else policy.reminder_first_s)
    return [Wanted(Kind.REMINDER, max((m.seq for m in past), default=0) + 1, heard_ns)]
