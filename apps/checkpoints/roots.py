"""Storage roots: which folders are looked at for whose checkpoints."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import transaction

from apps.accounts.records import Actor
from apps.accounts.services import audit, require
from apps.checkpoints import roots_store as store
from apps.checkpoints.root_records import RootInfo, RootRule
from apps.checkpoints.storage import pattern, places
from apps.core.errors import AppError, Conflict, NotFound, Refused
from apps.core.queue import Job, enqueue
from apps.runs import store as runs

EVERY_S = 300
MIN_EVERY_S, MAX_EVERY_S = 30, 7 * 86_400
MAX_PROJECT = 200


def add(asked: RootRule, actor: Actor, now_ns: int) -> int:
    """A new root's number; it is looked at at once. Needs the scope admin.

    Refused for a folder outside CHECKPOINT_ROOTS, Conflict if there is such a root already,
    AppError for what is no address, pattern, run or interval.
    """
    require(actor, "admin")
    rule = _checked(asked)
    with transaction.atomic():
        store.one_at_a_time()
        _refuse_twice(rule)
        if store.count() >= store.MAX_ROOTS:
            raise Refused(f"there are {store.MAX_ROOTS} roots already", hint="remove some first")
        root_id = store.add(rule, actor.name[:200], now_ns)
        audit(actor, "storage_root.added", _called(root_id, rule), after=_told(rule))
        enqueue(Job.CHECKPOINTS_SCAN, root_id)
    return root_id


def change(root_id: int, asked: RootRule, version: int, actor: Actor, now_ns: int) -> None:
    """Changes a root; the same errors as `add`, and Conflict if somebody was faster."""
    require(actor, "admin")
    rule = _checked(asked)
    with transaction.atomic():
        store.one_at_a_time()
        before = known(root_id)
        _refuse_twice(rule, root_id)
        if not store.change(root_id, version, rule, actor.name[:200], now_ns):
            raise Conflict(
                f"{before.changed_by} changed this root meanwhile",
                hint="look at it again, then repeat your change",
            )
        what = _called(root_id, rule)
        audit(actor, "storage_root.changed", what, before=_told(before.rule), after=_told(rule))
        enqueue(Job.CHECKPOINTS_SCAN, root_id)


def remove(root_id: int, actor: Actor) -> None:
    """Nothing looks there any more; what was registered stays. Needs the scope admin."""
    require(actor, "admin")
    with transaction.atomic():
        store.one_at_a_time()
        before = known(root_id)
        store.remove(root_id)
        what = _called(root_id, before.rule)
        audit(actor, "storage_root.removed", what, before=_told(before.rule))


def hurry(root_id: int, actor: Actor, now_ns: int) -> None:
    """Look at a root now. Needs the scope operate; Refused for one that is switched off."""
    require(actor, "operate")
    with transaction.atomic():
        root = known(root_id)
        if not root.rule.enabled:
            raise Refused("this root is switched off", hint="switch it on first")
        store.hurry(root_id, now_ns)
        audit(actor, "storage_root.scan_asked", _called(root_id, root.rule))
        enqueue(Job.CHECKPOINTS_SCAN, root_id)


def known(root_id: int) -> RootInfo:
    """The root; NotFound if there is none."""
    found = store.get(root_id)
    if found is None:
        raise NotFound("there is no such storage root", hint="see /storage/ for those there are")
    return found


def place_of(uri: str) -> places.Place:
    """The folder of an address. Refused unless CHECKPOINT_ROOTS has a folder that holds it: it is
    asked at each look, because the setting may have changed."""
    place = places.parse(uri)
    if not places.allowed(place, settings.CHECKPOINT_ROOTS):
        raise Refused(
            f"{place.uri} may not be looked at",
            where="uri",
            hint="whoever runs Lastgood names the folders in CHECKPOINT_ROOTS"
            + ("; it names none" if not settings.CHECKPOINT_ROOTS else ""),
        )
    return place


def _checked(asked: RootRule) -> RootRule:
    place = place_of(asked.uri)
    if not MIN_EVERY_S <= asked.every_s <= MAX_EVERY_S:
        hint = f"between {MIN_EVERY_S} and {MAX_EVERY_S} seconds"
        raise AppError("this is no interval between two looks", where="every_s", hint=hint)
    if asked.run_id is not None:
        if asked.pattern:
            hint = "leave the pattern empty, or name no run"
            raise AppError("a root of one run has no pattern", where="pattern", hint=hint)
        return RootRule(place.uri, asked.run_id, "", "", asked.every_s, asked.enabled)
    if len(asked.project) > MAX_PROJECT:
        raise AppError("no project has so long a name", where="project")
    shape = pattern.check(asked.pattern)
    return RootRule(place.uri, None, asked.project, shape, asked.every_s, asked.enabled)


def _refuse_twice(rule: RootRule, but: int = 0) -> None:
    if store.taken(rule, but):
        raise Conflict("there is such a root already", where="uri", hint="change that one")


def _told(rule: RootRule) -> dict[str, Any]:
    run = {} if rule.run_id is None else {"run": runs.keys([rule.run_id]).get(rule.run_id, "")}
    shared = {} if rule.run_id is not None else {"project": rule.project, "pattern": rule.pattern}
    told = {"uri": rule.uri, "every_s": rule.every_s, "enabled": rule.enabled}
    return {**told, **run, **shared}


def _called(root_id: int, rule: RootRule) -> str:
    return f"storage root {rule.uri} ({root_id})"
