"""Pins, tags and leases: what keeps a checkpoint, by whom and why."""

from __future__ import annotations

from collections.abc import Mapping

from django.db import transaction

from apps.accounts.records import SYSTEM, Actor
from apps.accounts.services import audit
from apps.checkpoints import marks_store, store
from apps.checkpoints.domain.codes import printable
from apps.checkpoints.domain.lifecycle import GONE
from apps.checkpoints.records import CheckpointInfo, MarkKind, Place, Protection
from apps.core.clock import now_ns
from apps.core.errors import NotFound, Refused
from apps.runs import store as runs

MAX_REASON = 500
MAX_NAME = 100


def pin(run_id: int, at: Place, *, reason: str, actor: Actor) -> None:
    """Keeps a checkpoint until somebody takes the pin off. Refused without a reason."""
    _set(run_id, at, _mark(MarkKind.PIN, "", _required(reason, "reason", MAX_REASON), actor), actor)


def unpin(run_id: int, at: Place, *, reason: str, actor: Actor) -> bool:
    """Takes the pin off; False if there was none."""
    return _drop(run_id, at, (MarkKind.PIN, ""), _text(reason, "reason", MAX_REASON), actor)


def tag(run_id: int, at: Place, name: str, *, reason: str = "", actor: Actor) -> None:
    """Gives a checkpoint a name, which keeps it too. The same name again changes the reason."""
    name = _required(name, "name", MAX_NAME)
    reason = _text(reason, "reason", MAX_REASON)
    _set(run_id, at, _mark(MarkKind.TAG, name, reason, actor), actor)


def untag(run_id: int, at: Place, name: str, *, actor: Actor) -> bool:
    """Takes a name off; False if it had none of this name."""
    return _drop(run_id, at, (MarkKind.TAG, _text(name, "name", MAX_NAME)), "", actor)


def lease(
    run_id: int, at: Place, holder: str, *, until_ns: int, reason: str, actor: Actor = SYSTEM
) -> None:
    """Keeps a checkpoint for a job until a time; the holder takes it again to prolong it.

    Not audited: a job says so every few minutes. Refused if the checkpoint is gone.
    """
    mark = Protection(
        MarkKind.LEASE,
        _required(holder, "holder", MAX_NAME),
        _text(reason, "reason", MAX_REASON),
        actor.name,
        now_ns(),
        until_ns,
    )
    with transaction.atomic():
        _room(run_id, _known(run_id, at), mark)
        marks_store.save(run_id, at, mark)


def release(run_id: int, at: Place, holder: str) -> bool:
    """Ends a lease early; False if it had none of this holder."""
    return marks_store.drop(run_id, at, MarkKind.LEASE, holder)


def protections(run_id: int, now_ns: int) -> Mapping[Place, tuple[Protection, ...]]:
    """(attempt, step) -> why it must not be deleted; only those that have a mark that holds."""
    return {at: tuple(found) for at, found in marks_store.of_run(run_id, now_ns).items()}


def _mark(kind: MarkKind, name: str, reason: str, actor: Actor) -> Protection:
    return Protection(kind, name, reason, actor.name, now_ns())


def _set(run_id: int, at: Place, mark: Protection, actor: Actor) -> None:
    with transaction.atomic():
        _room(run_id, _known(run_id, at), mark)
        marks_store.save(run_id, at, mark)
        said = {"name": mark.name} if mark.name else {}
        _audited(run_id, at, mark.kind.value, actor, mark.reason, said)


def _drop(run_id: int, at: Place, which: tuple[MarkKind, str], reason: str, actor: Actor) -> bool:
    kind, name = which
    with transaction.atomic():
        _known(run_id, at)
        if not marks_store.drop(run_id, at, kind, name):
            return False
        _audited(run_id, at, f"un{kind.value}", actor, reason, {"name": name} if name else {})
    return True


def _known(run_id: int, at: Place) -> CheckpointInfo:
    runs.lock_run(run_id)
    known = store.lock(run_id, *at)
    if known is None:
        raise NotFound(
            f"attempt {at[0]} has no checkpoint at step {at[1]}",
            hint="the list of checkpoints of the run says which there are",
            where="step",
        )
    return known


def _room(run_id: int, known: CheckpointInfo, mark: Protection) -> None:
    """Raises Refused if the checkpoint cannot be given this mark."""
    if known.state in GONE:
        raise Refused(
            f"the checkpoint of step {known.step} is {known.state.value}: nothing can keep it",
            where="step",
            hint="choose one that is still there",
        )
    held = marks_store.of_checkpoint(run_id, known.place, mark.made_at_ns)
    others = [m for m in held if (m.kind, m.name) != (mark.kind, mark.name)]
    if len(others) >= marks_store.MAX_OF_ONE:
        raise Refused(
            f"the checkpoint of step {known.step} has {len(others)} marks already",
            where="name",
            hint="take one off first",
        )


def _required(text: str, where: str, limit: int) -> str:
    kept = _text(text, where, limit)
    if not kept:
        raise Refused(f"the {where} is missing", where=where, hint="say it in a few words")
    return kept


def _text(text: str, where: str, limit: int) -> str:
    kept = printable(text.strip())
    if len(kept) > limit:
        raise Refused(
            f"the {where} is too long", where=where, hint=f"write at most {limit} characters"
        )
    return kept


def _audited(
    run_id: int, at: Place, verb: str, actor: Actor, reason: str, said: dict[str, str]
) -> None:
    place = f"checkpoint {at[0]}/{at[1]}"
    audit(actor, f"checkpoint.{verb}", place, run_id=run_id, after=said, reason=reason)
