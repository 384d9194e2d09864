"""When messages go out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from apps.alerts.domain.message import DONE, OPENERS, Kind, Message, Messages
from apps.incidents.domain.correlate import FAILURE_KINDS
from apps.incidents.domain.incident import IncidentInfo, IncidentState, Resolution

SECOND_NS = 1_000_000_000
HOUR_NS = 3600 * SECOND_NS


@dataclass(frozen=True, slots=True)
class AlertPolicy:
    """When messages go out; all values in seconds, but flips.

    settle_s: a dead job waits this long for late log lines unless the triage says it is settled,
    because the first line to arrive is rarely the first failure. suspect_s: a page that accuses
    nobody and knows no cause waits this long for a rank to stand apart, if the run logs a loss per
    rank: ranks print every tenth step, the job's loss comes every step, so the page is opened
    before its suspect is known (1.4 s before, in a recorded silent corruption). group_s: warnings
    wait this long and go out together. hold_s: an episode that ended by itself must stay quiet
    this long before the closing message; each return makes it hold_growth times longer (up to
    hold_max_s), so a flapping signal sends ever fewer messages. flips: after so many openings and
    closings in an hour the next one is a notice of flapping, and then nothing is said until it has
    been quiet for hold_max_s. reminder_*: while nobody has acknowledged. late_s: incidents older
    than this that nobody was told of are not announced any more when the alert worker comes back
    (they stay on the page). news_s: what ended longer ago is no news for a recipient who was not
    to be told of it then, such as one of a new rule.
    """

    settle_s: float = 10.0
    suspect_s: float = 5.0
    group_s: float = 300.0
    hold_s: float = 10.0
    hold_growth: float = 4.0
    hold_max_s: float = 3600.0
    flips: int = 6
    reminder_first_s: float = 3600.0
    reminder_every_s: float = 14_400.0
    late_s: float = 86_400.0
    news_s: float = 3600.0


DEFAULT_POLICY = AlertPolicy()
_ABOUT = {
    Kind.REMINDER: IncidentState.OPEN,
    Kind.ACKNOWLEDGED: IncidentState.ACKNOWLEDGED,
    Kind.CLOSING: IncidentState.RESOLVED,
}


def ns(seconds: float) -> int:
    """Nanoseconds."""
    return int(seconds * SECOND_NS)


def hold_ns(incident: IncidentInfo, policy: AlertPolicy) -> int:
    """How long an end must last: nothing if a person or a verified rollback declared it."""
    if incident.resolution != Resolution.CLOSED:
        return 0
    hold_s = policy.hold_s * policy.hold_growth ** min(incident.reopened, 20)
    return ns(min(hold_s, policy.hold_max_s))


def over(incident: IncidentInfo, now_ns: int, policy: AlertPolicy = DEFAULT_POLICY) -> bool:
    """Whether the end of the incident is certain: declared, or quiet for the hold time."""
    if incident.state is not IncidentState.RESOLVED or incident.resolved_at_ns is None:
        return False
    return now_ns >= incident.resolved_at_ns + hold_ns(incident, policy)


def ready_ns(kind: Kind, incident: IncidentInfo, now_ns: int) -> int | None:
    """From when on a message that is due may be sent; None if it makes no sense any more.

    Some kinds are about a state of the incident (_ABOUT). While it is silenced nothing is sent,
    and of what has ended by then only the end.
    """
    if incident.state is not _ABOUT.get(kind, incident.state):
        return None
    if not incident.silenced(now_ns):
        return now_ns
    ended = incident.state is IncidentState.RESOLVED
    return None if ended and kind is not Kind.CLOSING else incident.silenced_until_ns


def forgotten(
    incident: IncidentInfo,
    existing: Iterable[Message],
    now_ns: int,
    policy: AlertPolicy = DEFAULT_POLICY,
) -> bool:
    """Whether nobody was told of the incident when it was young. Asked by the periodic scan only:
    a warning that becomes a page after days is news all the same."""
    return not list(existing) and now_ns - incident.opened_at_ns > ns(policy.late_s)


def awaits_suspect(incident: IncidentInfo) -> bool:
    """Whether a rank that stands apart would be news: no suspect, no known cause, no dead job."""
    unknown = all(hypothesis.cause == "unknown" for hypothesis in incident.hypotheses)
    return unknown and not incident.suspects and incident.kind not in FAILURE_KINDS


def opening_kind(messages: Messages, now_ns: int, policy: AlertPolicy) -> Kind:
    """An opening message, or a notice of flapping where there were too many."""
    flips = (m for m in messages.values() if m.kind in (*OPENERS, Kind.CLOSING))
    told = [m.told_ns for m in flips if m.status in DONE and m.told_ns is not None]
    recent = sum(told_ns > now_ns - HOUR_NS for told_ns in told)
    return Kind.FLAPPING if recent >= policy.flips else Kind.OPENING
