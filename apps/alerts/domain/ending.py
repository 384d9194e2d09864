"""Which messages an incident still needs once it has ended, or is no longer the recipient's."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from apps.alerts.domain.message import (
    OPENERS,
    Decision,
    Kind,
    Message,
    Messages,
    Status,
    Wanted,
    last_opener,
    waiting,
)
from apps.alerts.domain.timing import AlertPolicy, hold_ns, ns, opening_kind
from apps.incidents.domain.incident import UNTIL_RESOLVED, IncidentInfo, IncidentState


def after_silence(
    wanted: Iterable[Wanted], incident: IncidentInfo, now_ns: int
) -> tuple[Wanted, ...]:
    """The same messages, due when the incident is no longer silenced."""
    until_ns = incident.silenced_until_ns
    if until_ns is None or not incident.silenced(now_ns):
        return tuple(wanted)
    return tuple(replace(w, due_ns=max(w.due_ns, until_ns)) for w in wanted)


def ended(incident: IncidentInfo, messages: Messages, now_ns: int, policy: AlertPolicy) -> Decision:
    """The closing message, or the opening one that the end came before."""
    resolved_ns = incident.resolved_at_ns or now_ns
    dropped = (*waiting(messages, Kind.REMINDER), *_held(messages, resolved_ns))
    opener = last_opener(messages)
    if now_ns - resolved_ns > ns(policy.late_s):
        return Decision((), dropped)
    if opener is None:
        return Decision(_unplanned(incident, messages, now_ns, policy), dropped)
    if not opener.done:
        return _unannounced(incident, opener, resolved_ns, dropped)
    closing = messages.get((Kind.CLOSING, opener.seq))
    wanted: list[Wanted] = []
    if closing is None or not closing.done:
        wanted = [_closing(incident, opener, resolved_ns, policy)]
    elif _unseen(incident, messages, closing, resolved_ns):
        kind = opening_kind(messages, now_ns, policy)
        wanted = [Wanted(kind, opener.seq + 1, resolved_ns, incident.page)]
    return Decision(after_silence(wanted, incident, now_ns), dropped)


def left(incident: IncidentInfo, messages: Messages, now_ns: int, policy: AlertPolicy) -> Decision:
    """Nothing new for somebody no rule sends it to; what was opened there is closed there."""
    decision = Decision()
    opener = last_opener(messages)
    if incident.state is IncidentState.RESOLVED and opener is not None and opener.done:
        decision = ended(incident, messages, now_ns, policy)
    wanted = tuple(w for w in decision.wanted if w.kind is Kind.CLOSING)
    kept = {(w.kind, w.seq) for w in wanted}
    pending = [(m.kind, m.seq) for m in messages.values() if m.status is Status.PENDING]
    return Decision(wanted, tuple(m for m in pending if m not in kept))


def _held(messages: Messages, resolved_ns: int) -> list[tuple[Kind, int]]:
    """Escalations that a silence kept back until the end: nobody has to look any more."""
    pending = [m for m in messages.values() if m.status is Status.PENDING]
    late = [m for m in pending if (m.due_ns or 0) > resolved_ns]
    return [(m.kind, m.seq) for m in late if m.kind is Kind.ESCALATION]


def _unseen(incident: IncidentInfo, messages: Messages, closing: Message, resolved_ns: int) -> bool:
    """Whether it came back and ended again before anybody looked: an episode all the same."""
    dropped = any((kind, closing.seq + 1) in messages for kind in OPENERS)
    again = closing.told_ns is not None and closing.told_ns < resolved_ns
    return again and not dropped and not _silenced_then(incident, resolved_ns)


def _silenced_then(incident: IncidentInfo, resolved_ns: int) -> bool:
    until_ns = incident.silenced_until_ns
    return until_ns is not None and resolved_ns < until_ns


def _unplanned(
    incident: IncidentInfo, messages: Messages, now_ns: int, policy: AlertPolicy
) -> tuple[Wanted, ...]:
    """For an end before anything was planned: news if it is fresh and nobody had silenced it."""
    resolved_ns = incident.resolved_at_ns or now_ns
    stale = now_ns - resolved_ns > ns(policy.news_s)
    if messages or stale or _silenced_then(incident, resolved_ns):
        return ()
    due_ns = resolved_ns if incident.page else incident.opened_at_ns + ns(policy.group_s)
    return (Wanted(Kind.OPENING, 0, due_ns, incident.page),)


def _unannounced(
    incident: IncidentInfo,
    opener: Message,
    resolved_ns: int,
    dropped: tuple[tuple[Kind, int], ...],
) -> Decision:
    """A page that is not sent yet is told at once; what somebody had silenced never is."""
    due_ns = opener.due_ns or resolved_ns
    if _silenced_then(incident, resolved_ns) or due_ns >= UNTIL_RESOLVED:
        return Decision((), (*dropped, (opener.kind, opener.seq)))
    soon_ns = resolved_ns if incident.page else due_ns
    return Decision((Wanted(opener.kind, opener.seq, soon_ns, incident.page),), dropped)


def _closing(
    incident: IncidentInfo, opener: Message, resolved_ns: int, policy: AlertPolicy
) -> Wanted:
    """The closing message of an episode; that of a warning is as quiet as its opening one."""
    wait_ns = hold_ns(incident, policy)
    if opener.kind is Kind.FLAPPING:
        wait_ns = ns(policy.hold_max_s)
    urgent = opener.urgent or incident.page
    if not urgent:
        wait_ns = max(wait_ns, ns(policy.group_s))
    return Wanted(Kind.CLOSING, opener.seq, resolved_ns + wait_ns, urgent)
