"""What may be done to an incident, and what becomes of it. Decided here and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum

from apps.core.errors import Conflict, Refused
from apps.incidents.domain.incident import (
    NOTHING_DONE,
    UNRESOLVED,
    UNTIL_RESOLVED,
    IncidentInfo,
    IncidentState,
    Resolution,
)

MAX_SILENCE_NS = 30 * 86_400_000_000_000
"""A silence with an end: at most so long. Longer is "until resolved"."""
MAX_NAME = 200


class Act(StrEnum):
    """What is done to an incident."""

    ACKNOWLEDGE = "acknowledge"
    MITIGATE = "mitigate"
    RESOLVE = "resolve"
    REOPEN = "reopen"
    SILENCE = "silence"
    UNSILENCE = "unsilence"
    ASSIGN = "assign"


DONE = {
    Act.ACKNOWLEDGE: "acknowledged",
    Act.MITIGATE: "mitigated",
    Act.RESOLVE: "resolved",
    Act.REOPEN: "reopened",
    Act.SILENCE: "silenced",
    Act.UNSILENCE: "unsilenced",
    Act.ASSIGN: "assigned",
}
"""The act as something that has happened: in changes, the history and the audit trail."""


@dataclass(frozen=True, slots=True)
class Standing:
    """The part of an incident that acts change, and that decides what may follow.

    The fields mean what they mean in `IncidentInfo`.
    """

    state: IncidentState = IncidentState.OPEN
    resolution: str = ""
    owner: str = ""
    acknowledged_at_ns: int | None = None
    acknowledged_by: str = ""
    mitigated_at_ns: int | None = None
    resolved_at_ns: int | None = None
    silenced_until_ns: int | None = None
    silenced_by: str = ""
    silence_reason: str = ""
    reopened: int = 0
    relapsed_step: int | None = None
    relapsed_attempt: int | None = None
    relapsed_at_ns: int | None = None

    @property
    def unresolved(self) -> bool:
        return self.state in UNRESOLVED


@dataclass(frozen=True, slots=True)
class Deed:
    """An act with who, when and why.

    by: a user, a token or Lastgood itself. takes_over: `by` is a person who becomes the owner of
    what nobody owns (ACKNOWLEDGE). resolution: for RESOLVE. owner: for ASSIGN, "" for nobody.
    until_ns: for SILENCE. step, attempt: where it relapsed, for REOPEN.
    """

    act: Act
    at_ns: int
    by: str
    reason: str = ""
    takes_over: bool = False
    resolution: Resolution = Resolution.NONE
    owner: str = ""
    until_ns: int = 0
    step: int | None = None
    attempt: int | None = None


def standing_of(info: IncidentInfo) -> Standing:
    """The standing of a stored incident."""
    return Standing(**{name: getattr(info, name) for name in Standing.__dataclass_fields__})


def decide(now: Standing, deed: Deed) -> Standing | None:
    """The standing after `deed`, or None if it is already so (a repeated click, a replay).

    open -> acknowledged -> mitigated -> resolved; any of them may be left out, and only REOPEN
    goes back. REOPEN is for a signal that came back: it starts again as open, and nobody's word of
    earlier (mitigated, silenced) holds any more. An episode that ends and returns by itself names
    no attempt: a silence with an end outlives it. An incident that nobody thought over only keeps
    where it came back. Owner and silence are no states: they are acts of
    their own. Raises Conflict for what cannot be done now, Refused for what can never be done.
    """
    after = _RULES[deed.act](now, deed)
    return None if after == now else after


def in_words(deed: Deed) -> str:
    """The act as one line of history: "resolved (manual): the batch was skipped"."""
    said = {
        Act.RESOLVE: f"resolved ({deed.resolution})",
        Act.REOPEN: f"reopened: {_came_back(deed)}",
        Act.SILENCE: f"silenced until {_end(deed.until_ns)}",
        Act.ASSIGN: f"assigned to {deed.owner or 'nobody'}",
        Act.UNSILENCE: "the silence was ended",
    }.get(deed.act, DONE[deed.act])
    why = deed.reason.strip()
    mark = ";" if deed.act is Act.REOPEN else ":"
    return f"{said}{mark} {why}" if why else said


def _came_back(deed: Deed) -> str:
    """Where it came back; what was done may also have been taken back."""
    if deed.attempt is None and deed.reason.strip():
        return "what was done is taken back"
    at = "" if deed.step is None else f" at step {deed.step:,}"
    return f"it came back{at}" + ("" if deed.attempt is None else f" in attempt {deed.attempt}")


def _end(until_ns: int) -> str:
    if until_ns == UNTIL_RESOLVED:
        return "it is resolved"
    return f"{datetime.fromtimestamp(until_ns // 1_000_000_000, UTC):%Y-%m-%d %H:%M} UTC"


def _acknowledge(now: Standing, deed: Deed) -> Standing:
    """Of a mitigated incident it names who takes care, and leaves it mitigated."""
    _must_be_unresolved(now, deed)
    if now.state is IncidentState.ACKNOWLEDGED:
        return now
    if now.state is IncidentState.MITIGATED:
        return now if now.acknowledged_by else _acknowledged(now, deed)
    return replace(_acknowledged(now, deed), state=IncidentState.ACKNOWLEDGED)


def _acknowledged(now: Standing, deed: Deed) -> Standing:
    owner = now.owner or (deed.by[:MAX_NAME] if deed.takes_over else "")
    return replace(
        now, acknowledged_at_ns=deed.at_ns, acknowledged_by=deed.by[:MAX_NAME], owner=owner
    )


def _mitigate(now: Standing, deed: Deed) -> Standing:
    _must_be_unresolved(now, deed)
    if now.state is IncidentState.MITIGATED:
        return now
    return replace(now, state=IncidentState.MITIGATED, mitigated_at_ns=deed.at_ns)


def _resolve(now: Standing, deed: Deed) -> Standing:
    if deed.resolution is Resolution.NONE:
        raise ValueError("a resolution needs a reason; pass a Resolution other than NONE")
    if now.state is IncidentState.RESOLVED:
        return now
    ended = replace(
        now,
        state=IncidentState.RESOLVED,
        resolution=deed.resolution.value,
        resolved_at_ns=deed.at_ns,
    )
    return _heard(ended) if now.silenced_until_ns == UNTIL_RESOLVED else ended


def _reopen(now: Standing, deed: Deed) -> Standing:
    known = deed.attempt is None or deed.attempt == now.relapsed_attempt
    if now.state in NOTHING_DONE:
        return now if known else _placed(now, deed)
    back = replace(
        now,
        state=IncidentState.OPEN,
        resolution=Resolution.NONE.value,
        resolved_at_ns=None,
        mitigated_at_ns=None,
        reopened=now.reopened + 1,
    )
    return back if deed.attempt is None else _heard(_placed(back, deed))


def _placed(now: Standing, deed: Deed) -> Standing:
    return replace(
        now, relapsed_step=deed.step, relapsed_attempt=deed.attempt, relapsed_at_ns=deed.at_ns
    )


def _silence(now: Standing, deed: Deed) -> Standing:
    _must_be_unresolved(now, deed)
    _check_reason(deed)
    ends = deed.until_ns == UNTIL_RESOLVED or 0 < deed.until_ns - deed.at_ns <= MAX_SILENCE_NS
    if not ends:
        raise Refused(
            "a silence ends in the future and within 30 days",
            where="until",
            hint="or let it last until the incident is resolved",
        )
    return replace(
        now,
        silenced_until_ns=deed.until_ns,
        silenced_by=deed.by[:MAX_NAME],
        silence_reason=deed.reason.strip(),
    )


def _unsilence(now: Standing, deed: Deed) -> Standing:
    return _heard(now)


def _assign(now: Standing, deed: Deed) -> Standing:
    if len(deed.owner) > MAX_NAME:
        raise Refused("this name is too long", where="owner", hint="give a user name")
    return replace(now, owner=deed.owner)


def _heard(now: Standing) -> Standing:
    return replace(now, silenced_until_ns=None, silenced_by="", silence_reason="")


def _check_reason(deed: Deed) -> None:
    if not deed.reason.strip():
        raise Refused(
            "a reason is missing", where="reason", hint="say why nobody should hear of it"
        )


def _must_be_unresolved(now: Standing, deed: Deed) -> None:
    if not now.unresolved:
        raise _refusal(now, deed)


def _refusal(now: Standing, deed: Deed) -> Conflict:
    return Conflict(
        f"{_article(now.state)} incident cannot be changed by {deed.act}",
        hint="reload the page: somebody else was first",
        where="incident",
    )


def _article(state: IncidentState) -> str:
    return f"{'an' if state.value[0] in 'ao' else 'a'} {state}"


_RULES: dict[Act, Callable[[Standing, Deed], Standing]] = {
    Act.ACKNOWLEDGE: _acknowledge,
    Act.MITIGATE: _mitigate,
    Act.RESOLVE: _resolve,
    Act.REOPEN: _reopen,
    Act.SILENCE: _silence,
    Act.UNSILENCE: _unsilence,
    Act.ASSIGN: _assign,
}
