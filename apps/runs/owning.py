"""Whose a run is, and which lists of runs a person keeps."""

from __future__ import annotations

from django.db import transaction

from apps.accounts.records import Actor
from apps.accounts.services import audit, require
from apps.accounts.store import is_user
from apps.core.errors import AppError, Conflict
from apps.runs import saved_store, store
from apps.runs.records import RunInfo
from apps.runs.saved_store import MAX_VIEWS, View


def take(run: RunInfo, *, actor: Actor) -> None:
    """The run belongs to this person from now on. Needs the scope operate.

    Taking what one has already changes nothing. Conflict where somebody else has it who may still
    sign in.
    """
    require(actor, "operate")
    with transaction.atomic():
        store.lock_run(run.id)
        before = store.owner(run.id)
        if before != actor.name and is_user(before):
            raise Conflict(f"{before} has it", where=run.key, hint="ask them to give it up")
        _hand_over(run, before, actor.name, actor)


def give_up(run: RunInfo, *, actor: Actor) -> None:
    """Nobody has taken the run any more, and who started it is shown again. Needs the scope
    operate. Changes nothing where somebody else has it."""
    require(actor, "operate")
    with transaction.atomic():
        store.lock_run(run.id)
        if store.owner(run.id) == actor.name:
            _hand_over(run, actor.name, "", actor)


def _hand_over(run: RunInfo, before: str, after: str, actor: Actor) -> None:
    if before == after:
        return
    store.set_owner(run.id, after)
    audit(
        actor,
        "run.owned",
        f"run {run.key}",
        run_id=run.id,
        before={"owner": before},
        after={"owner": after},
    )


def save_view(view: View, at_ns: int, *, actor: Actor) -> None:
    """Keeps a list under a name, for this person. AppError for a name that is none, or too many."""
    name = view.name.strip()
    if not 0 < len(name) <= 60 or not name.isprintable():
        raise AppError("a view needs a name of 1-60 printable characters", where="name")
    with transaction.atomic():
        known = saved_store.get(actor.name, name)
        if not saved_store.save(actor.name, View(name, view.query), at_ns):
            raise AppError(f"there are {MAX_VIEWS} views", hint="remove one of them first")
        before = {"query": known.query} if known else {}
        audit(actor, "view.saved", f"view {name}", before=before, after={"query": view.query})


def drop_view(name: str, *, actor: Actor) -> None:
    """Forgets a list that this person kept; one that is not there changes nothing."""
    with transaction.atomic():
        known = saved_store.get(actor.name, name)
        if known is not None:
            saved_store.drop(actor.name, name)
            audit(actor, "view.removed", f"view {name}", before={"query": known.query})
