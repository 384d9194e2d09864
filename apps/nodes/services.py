"""Where hosts stand: what people, incidents, orders and launchers do to them; all of it audited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.db import transaction

from apps.accounts.records import SYSTEM, Actor
from apps.accounts.services import audit, require
from apps.core.errors import Conflict, NotFound, Refused
from apps.nodes import hosts_store as store
from apps.nodes.domain.standing import (
    BY_PEOPLE,
    MAX_REASON,
    Act,
    Deed,
    HostState,
    Standing,
    decide,
)
from apps.nodes.records import ChangeInfo, HostInfo

MAX_NAME = 255
MAX_RACK = 200
MAX_RACKS = 10_000


def act(names: Sequence[str], deed: Deed, *, actor: Actor = SYSTEM) -> list[ChangeInfo]:
    """Does `deed` to those of the named hosts that are known and that it changes; the changes.

    Joins the caller's transaction and holds the hosts until its end.
    """
    with transaction.atomic():
        return act_each(dict.fromkeys(names, deed), actor=actor)


def act_each(deeds: Mapping[str, Deed], *, actor: Actor = SYSTEM) -> list[ChangeInfo]:
    """The same with a deed for each host. Hosts are locked in one order, whoever calls."""
    with transaction.atomic():
        held = store.lock(list(deeds)) if deeds else {}
        done = [_apply(host, deeds[name], actor) for name, host in held.items()]
    return [change for change in done if change is not None]


def mark(
    name: str,
    state: HostState,
    *,
    actor: Actor,
    now_ns: int,
    reason: str,
    replaced_by: str = "",
) -> HostInfo:
    """A person says where a host stands; the host as it is then.

    Needs the scope operate. Refused without a reason or with a name that is too long, NotFound for
    an unknown host, Conflict if the host stands there already or the state cannot follow.
    """
    require(actor, "operate")
    _check(reason, replaced_by)
    verb = BY_PEOPLE[state]
    new = replaced_by.strip() if state is HostState.REPLACED else ""
    deed = Deed(verb, now_ns, actor.name, reason, replaced_by=new)
    with transaction.atomic():
        host = store.lock([name]).get(name)
        if host is None:
            raise NotFound("no such host", where="name", hint="GET /api/v1/nodes lists them")
        if _apply(host, deed, actor) is None:
            raise Conflict(
                f"{name} is {host.state.value}; it cannot become {state.value}",
                where="state",
                hint="somebody else may have been first: reload the page",
            )
    return store.known([name])[name]


def set_racks(racks: Mapping[str, str], *, actor: Actor) -> int:
    """Says in which racks hosts stand, "" for none; how many changed. Needs the scope operate."""
    require(actor, "operate")
    if len(racks) > MAX_RACKS:
        raise Refused(f"at most {MAX_RACKS:,} hosts at once", where="racks", hint="send several")
    for name, rack in racks.items():
        if len(rack) > MAX_RACK or not (rack + name).isprintable():
            hint = f"at most {MAX_RACK} printable characters"
            raise Refused(f"{name[:100]}: this is no name of a rack", where="racks", hint=hint)
    with transaction.atomic():
        changed = store.set_racks(racks)
        if changed:
            audit(actor, "host.racks", f"{changed} hosts", after=dict(list(racks.items())[:100]))
    return changed


def _check(reason: str, replaced_by: str) -> None:
    if len(reason) > MAX_REASON:
        hint = f"write at most {MAX_REASON} characters"
        raise Refused("the reason is too long", where="reason", hint=hint)
    if len(replaced_by) > MAX_NAME:
        raise Refused("this name is too long", where="replaced_by", hint="give a host name")


def _apply(host: HostInfo, deed: Deed, actor: Actor) -> ChangeInfo | None:
    after = decide(host.standing, deed)
    if after is None:
        return None
    change = store.save_standing(host, deed.act, after)
    audit(
        actor,
        f"host.{_DONE[deed.act]}",
        f"host {host.name}",
        before=_told(host.standing),
        after=_told(after),
        reason=deed.reason,
    )
    return change


def _told(standing: Standing) -> dict[str, str]:
    said = {"state": standing.state.value, "cause": standing.cause}
    said["replaced_by"] = standing.replaced_by
    return {name: value for name, value in said.items() if value}


_DONE = {
    Act.SUSPECT: "suspected",
    Act.WITHDRAW: "no_longer_suspected",
    Act.CONFIRM: "confirmed",
    Act.CORDON: "cordoned",
    Act.RELEASE: "released",
    Act.REPLACE: "replaced",
    Act.CLEAR: "cleared",
}
"""The act as the audit trail calls it."""
