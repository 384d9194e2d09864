"""Where a host stands, from "nothing is known against it" to "replaced". Plain Python.

Detectors, orders and launchers move a host by themselves as far as *cordoned*; that it is replaced,
or fine after all, only a person says.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from apps.core.errors import Refused

MAX_REASON: Final = 2_000


class HostState(StrEnum):
    """What is to be thought of a host. Stored: never rename a value."""

    OK = "ok"
    SUSPECTED = "suspected"
    CONFIRMED = "confirmed"
    CORDONED = "cordoned"
    REPLACED = "replaced"


class Act(StrEnum):
    """What happens to a host. Stored in its history: never rename a value."""

    SUSPECT = "suspect"
    WITHDRAW = "withdraw"
    CONFIRM = "confirm"
    CORDON = "cordon"
    RELEASE = "release"
    REPLACE = "replace"
    CLEAR = "clear"


BY_PEOPLE: Final = {
    HostState.OK: Act.CLEAR,
    HostState.SUSPECTED: Act.SUSPECT,
    HostState.CONFIRMED: Act.CONFIRM,
    HostState.CORDONED: Act.CORDON,
    HostState.REPLACED: Act.REPLACE,
}
"""The act by which a person brings a host into a state."""


@dataclass(frozen=True, slots=True)
class Standing:
    """The state of a host, and who brought it there, when and why.

    cause: what that hangs on ("incident:42", "order:7", "drain:7"), "" for a person's word.
    came_from: what a cordoned host was before. replaced_by: the host in its place, "" if unknown.
    """

    state: HostState = HostState.OK
    since_ns: int | None = None
    by: str = ""
    reason: str = ""
    cause: str = ""
    came_from: HostState = HostState.OK
    replaced_by: str = ""


@dataclass(frozen=True, slots=True)
class Deed:
    """An act with who, when and why; cause and replaced_by as in `Standing`.

    known_ns: since when what a detector says is known; None for news.
    """

    act: Act
    at_ns: int
    by: str
    reason: str
    cause: str = ""
    replaced_by: str = ""
    known_ns: int | None = None


def decide(now: Standing, deed: Deed) -> Standing | None:
    """The standing after `deed`, None if it changes nothing.

    ok -> suspected -> confirmed -> cordoned -> replaced; any of them may be left out. SUSPECT and
    CONFIRM never bring back what was taken out of service, but a replaced host that is blamed runs
    again. What was known before somebody said that the host is fine, or was replaced, makes nobody
    suspect it again. WITHDRAW ends a mere suspicion. RELEASE undoes the CORDON of the same cause,
    and only that. CLEAR is a person's word that it is in service again. Raises Refused without a
    reason.
    """
    if not deed.reason.strip():
        raise Refused("a reason is missing", where="reason", hint="say what you know of the host")
    if _is_stale(now, deed):
        return None
    return _RULES[deed.act](now, deed)


def _is_stale(now: Standing, deed: Deed) -> bool:
    over = now.state in (HostState.OK, HostState.REPLACED) and now.since_ns is not None
    return over and deed.known_ns is not None and deed.known_ns < (now.since_ns or 0)


def _to(state: HostState, now: Standing, deed: Deed) -> Standing:
    came_from = now.state if state is HostState.CORDONED else HostState.OK
    return Standing(
        state, deed.at_ns, deed.by, deed.reason.strip(), deed.cause, came_from, deed.replaced_by
    )


def _suspect(now: Standing, deed: Deed) -> Standing | None:
    suspects = now.state in (HostState.OK, HostState.REPLACED)
    return _to(HostState.SUSPECTED, now, deed) if suspects else None


def _withdraw(now: Standing, deed: Deed) -> Standing | None:
    """What a person suspects, a person has to clear."""
    mere = now.state is HostState.SUSPECTED and now.cause != ""
    return replace(_to(HostState.OK, now, deed), cause="") if mere else None


def _confirm(now: Standing, deed: Deed) -> Standing | None:
    done = now.state in (HostState.CONFIRMED, HostState.CORDONED)
    return None if done else _to(HostState.CONFIRMED, now, deed)


def _cordon(now: Standing, deed: Deed) -> Standing | None:
    """A second cause is kept in place of the first: a drained node outlives its order."""
    if now.state is HostState.REPLACED:
        return None
    if now.state is not HostState.CORDONED:
        return _to(HostState.CORDONED, now, deed)
    again = replace(_to(HostState.CORDONED, now, deed), came_from=now.came_from)
    return again if deed.cause != now.cause else None


def _release(now: Standing, deed: Deed) -> Standing | None:
    held = now.state is HostState.CORDONED and now.cause == deed.cause != ""
    return replace(_to(now.came_from, now, deed), cause="") if held else None


def _replace(now: Standing, deed: Deed) -> Standing | None:
    known = now.state is HostState.REPLACED and now.replaced_by == deed.replaced_by
    return None if known else _to(HostState.REPLACED, now, deed)


def _clear(now: Standing, deed: Deed) -> Standing | None:
    return None if now.state is HostState.OK else _to(HostState.OK, now, deed)


_RULES: Final[dict[Act, Callable[[Standing, Deed], Standing | None]]] = {
    Act.SUSPECT: _suspect,
    Act.WITHDRAW: _withdraw,
    Act.CONFIRM: _confirm,
    Act.CORDON: _cordon,
    Act.RELEASE: _release,
    Act.REPLACE: _replace,
    Act.CLEAR: _clear,
}
