"""Which messages an incident needs, and when. No clock, no database."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from apps.incidents.domain.correlate import FAILURE_KINDS
from apps.incidents.domain.incident import IncidentInfo, IncidentState, Resolution

_SECOND_NS = 1_000_000_000


class Kind(StrEnum):
    """What a message says. Stored: never rename a value."""

    OPENING = "opening"
    REMINDER = "reminder"
    CLOSING = "closing"
    ACKNOWLEDGED = "acknowledged"  # for channels that follow the state, never a mail


class Status(StrEnum):
    """Where a message stands. Stored: never rename a value.

    folded: another message said it too. withdrawn: it lost its reason before it was sent.
    failed: it cannot be sent, the error says why; a person may try again.
    """

    PENDING = "pending"
    SENT = "sent"
    FOLDED = "folded"
    WITHDRAWN = "withdrawn"
    FAILED = "failed"


DONE = frozenset({Status.SENT, Status.FOLDED})


@dataclass(frozen=True, slots=True)
class AlertPolicy:
    """When messages go out; all values in seconds.

    settle_s: a dead job waits this long for late log lines unless the triage says it is settled,
    because the first line to arrive is rarely the first failure. suspect_s: a page that accuses
    nobody and knows no cause waits this long for a rank to stand apart, if the run logs a loss per
    rank: ranks print every tenth step, the job's loss comes every step, so the page is opened
    before its suspect is known (1.4 s before, in a recorded silent corruption). hold_s: an episode
    that ended by itself must stay quiet this long before the closing message; each return makes it
    hold_growth times longer (up to hold_max_s), so a flapping signal sends ever fewer messages.
    reminder_*: while nobody has acknowledged. late_s: incidents older than this that nobody was
    told of are not announced any more when the alert worker comes back (they stay on the page).
    """

    settle_s: float = 10.0
    suspect_s: float = 5.0
    hold_s: float = 10.0
    hold_growth: float = 4.0
    hold_max_s: float = 3600.0
    reminder_first_s: float = 3600.0
    reminder_every_s: float = 14_400.0
    late_s: float = 86_400.0


DEFAULT_POLICY = AlertPolicy()

Messages = Mapping[tuple[Kind, int], Status]


@dataclass(frozen=True, slots=True)
class Message:
    """A message that exists already for one recipient. due_ns: as it was planned last."""

    kind: Kind
    seq: int
    status: Status
    due_ns: int | None = None


@dataclass(frozen=True, slots=True)
class Wanted:
    """A message that should exist. seq: the episode for opening and closing, else a counter."""

    kind: Kind
    seq: int
    due_ns: int


@dataclass(frozen=True, slots=True)
class Decision:
    """wanted: to add, or to bring forward. withdrawn: to drop if not yet sent."""

    wanted: tuple[Wanted, ...] = ()
    withdrawn: tuple[tuple[Kind, int], ...] = ()


def decide(
    incident: IncidentInfo,
    existing: Iterable[Message],
    now_ns: int,
    policy: AlertPolicy = DEFAULT_POLICY,
    *,
    ranks_logged: bool = False,
) -> Decision:
    """What to add and what to withdraw for one recipient. Deciding twice gives the same.

    ranks_logged: the run logs a loss per rank (see `AlertPolicy.suspect_s`).

    Only a paging incident sends anything. Each episode has one opening and one closing message;
    an incident that comes back before its closing message went out is still the same episode and
    sends nothing. An end that comes before the opening message was sent makes it due at once: it
    then says so, and stands for the closing message too.
    """
    if not incident.page:
        return Decision()
    messages = {(m.kind, m.seq): m.status for m in existing}
    if incident.state is IncidentState.RESOLVED:
        return Decision(_ended(incident, messages, now_ns, policy), _reminders(messages))
    episode = _closings(messages)
    wanted = (
        *_opening(incident, messages, now_ns, policy, ranks_logged),
        *_reminder(incident, messages, now_ns, policy),
    )
    closing = (Kind.CLOSING, episode)
    back = (closing,) if messages.get(closing) is Status.PENDING else ()
    attended = incident.attended
    return Decision(wanted, (*back, *(_reminders(messages) if attended else ())))


def follow(incident: IncidentInfo, existing: Iterable[Message], now_ns: int) -> list[Wanted]:
    """What a channel is told beside the messages of `decide`: that somebody has acknowledged.

    Once an episode, after its opening message has arrived.
    """
    messages = {(m.kind, m.seq): m.status for m in existing}
    episode = _closings(messages)
    opened = messages.get((Kind.OPENING, episode)) in DONE
    known = (Kind.ACKNOWLEDGED, episode) in messages
    if not opened or known or incident.state is not IncidentState.ACKNOWLEDGED:
        return []
    return [Wanted(Kind.ACKNOWLEDGED, episode, now_ns)]


def over(incident: IncidentInfo, now_ns: int, policy: AlertPolicy = DEFAULT_POLICY) -> bool:
    """Whether the end of the incident is certain: declared, or quiet for the hold time."""
    if incident.state is not IncidentState.RESOLVED or incident.resolved_at_ns is None:
        return False
    return now_ns >= incident.resolved_at_ns + _hold_ns(incident, policy)


def still_wanted(kind: Kind, incident: IncidentInfo) -> bool:
    """Whether a message that is due still makes sense.

    A reminder needs an unattended incident, a closing message the end of it.
    """
    if kind is Kind.ACKNOWLEDGED:
        return incident.state is IncidentState.ACKNOWLEDGED
    if kind is Kind.REMINDER:
        return incident.state is IncidentState.OPEN
    return kind is Kind.OPENING or incident.state is IncidentState.RESOLVED


def _closings(messages: Messages) -> int:
    """The number of the present episode: how many have been closed before."""
    return sum(kind is Kind.CLOSING and s in DONE for (kind, _), s in messages.items())


def forgotten(
    incident: IncidentInfo,
    existing: Iterable[Message],
    now_ns: int,
    policy: AlertPolicy = DEFAULT_POLICY,
) -> bool:
    """Whether nobody was told of the incident when it was young. Asked by the periodic scan only:
    a warning that becomes a page after days is news all the same."""
    return not list(existing) and now_ns - incident.opened_at_ns > policy.late_s * _SECOND_NS


def announced(existing: Iterable[Message]) -> bool:
    """Whether the first opening message needs no more planning."""
    return any((m.kind, m.seq) == (Kind.OPENING, 0) and m.status in DONE for m in existing)


def unreachable(existing: Iterable[Message]) -> bool:
    """Whether an opening message could not be sent to this recipient, and none was before."""
    openings = {m.status for m in existing if m.kind is Kind.OPENING}
    return Status.FAILED in openings and not openings & DONE


def awaits_suspect(incident: IncidentInfo) -> bool:
    """Whether a rank that stands apart would be news: no suspect, no known cause, no dead job."""
    unknown = all(hypothesis.cause == "unknown" for hypothesis in incident.hypotheses)
    return unknown and not incident.suspects and incident.kind not in FAILURE_KINDS


def _opening(
    incident: IncidentInfo,
    messages: Messages,
    now_ns: int,
    policy: AlertPolicy,
    ranks_logged: bool,
) -> list[Wanted]:
    episode = _closings(messages)
    status = messages.get((Kind.OPENING, episode))
    if status in DONE:
        return []
    if episode > 0:
        return [] if status is Status.PENDING else [Wanted(Kind.OPENING, episode, now_ns)]
    wait_s = 0.0 if incident.settled else policy.settle_s
    if ranks_logged and awaits_suspect(incident):
        wait_s = max(wait_s, policy.suspect_s)
    return [Wanted(Kind.OPENING, 0, incident.opened_at_ns + int(wait_s * _SECOND_NS))]


def _ended(
    incident: IncidentInfo, messages: Messages, now_ns: int, policy: AlertPolicy
) -> tuple[Wanted, ...]:
    resolved_ns = incident.resolved_at_ns or now_ns
    if now_ns - resolved_ns > policy.late_s * _SECOND_NS:
        return ()
    episode = max((seq for kind, seq in messages if kind is Kind.OPENING), default=0)
    if messages.get((Kind.OPENING, episode)) not in DONE:
        return (Wanted(Kind.OPENING, episode, resolved_ns),)
    if messages.get((Kind.CLOSING, episode)) in DONE:
        return ()
    return (Wanted(Kind.CLOSING, episode, resolved_ns + _hold_ns(incident, policy)),)


def _hold_ns(incident: IncidentInfo, policy: AlertPolicy) -> int:
    """How long an end must last: nothing if a person or a verified rollback declared it."""
    if incident.resolution != Resolution.CLOSED:
        return 0
    hold_s = policy.hold_s * policy.hold_growth ** min(incident.reopened, 20)
    return int(min(hold_s, policy.hold_max_s) * _SECOND_NS)


def _reminders(messages: Messages) -> tuple[tuple[Kind, int], ...]:
    """The reminders that wait to be sent."""
    return tuple(m for m, s in messages.items() if m[0] is Kind.REMINDER and s is Status.PENDING)


def _reminder(
    incident: IncidentInfo, messages: Messages, now_ns: int, policy: AlertPolicy
) -> list[Wanted]:
    """The next reminder, once the opening message is out and while nobody has acknowledged."""
    announced = messages.get((Kind.OPENING, _closings(messages))) in DONE
    if incident.state is not IncidentState.OPEN or not announced:
        return []
    past = [seq for (kind, seq), s in messages.items() if kind is Kind.REMINDER and s in DONE]
    seq = max(past, default=0) + 1
    if messages.get((Kind.REMINDER, seq)) is Status.PENDING:
        return []
    if seq > 1:
        return [Wanted(Kind.REMINDER, seq, now_ns + int(policy.reminder_every_s * _SECOND_NS))]
    first_ns = incident.opened_at_ns + int(policy.reminder_first_s * _SECOND_NS)
    return [Wanted(Kind.REMINDER, 1, max(first_ns, now_ns))]
