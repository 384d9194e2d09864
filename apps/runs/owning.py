"""Whose a run is, and which lists of runs a person keeps."""

from __future__ import annotations

from django.db import transaction

from apps.accounts.records import Actor
from apps.accounts.services import audit, require
from apps.core.errors import AppError
from apps.runs import saved_store, store
from apps.runs.records import RunInfo
from apps.runs.saved_store import MAX_VIEWS, View


def take(run: RunInfo, owner: str, *, actor: Actor) -> None:
    """The run belongs to a person from now on; "": to nobody, then who started it is shown again.

    Needs the scope operate. Taking what one has already changes nothing.
    """
    require(actor, "operate")
    with transaction.atomic():
        store.lock_run(run.id)
        before = store.set_owner(run.id, owner)
        if before != owner:
            audit(
                actor,
                "run.owned",
                f"run {run.key}",
                run_id=run.id,
                before={"owner": before},
                after={"owner": owner},
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
