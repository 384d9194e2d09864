"""Deleting what no rule keeps: planned, waiting for a day, then done, or taken back."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from django.conf import settings
from django.db import transaction

from apps.accounts.records import SYSTEM, Actor
from apps.accounts.services import audit, require
from apps.checkpoints import (
    copies_store,
    erasing,
    marks,
    observing,
    retention,
    retention_store,
    store,
)
from apps.checkpoints.domain.deletion import GRACE_S, State, moved
from apps.checkpoints.domain.inventory import Inventory, of_sizes
from apps.checkpoints.domain.lifecycle import GONE
from apps.checkpoints.domain.places import place
from apps.checkpoints.domain.retention import Held, Key, Plan
from apps.checkpoints.erasing import Outcome
from apps.checkpoints.records import Copy
from apps.checkpoints.retention import Guards
from apps.checkpoints.retention_store import PROJECT, Deletion
from apps.core.errors import NotFound
from apps.core.words import many
from apps.runs import store as runs
from apps.runs.records import RunInfo

log = logging.getLogger(__name__)
_NS = 1_000_000_000
AGAIN_S = 600
"""When a deletion is tried again that the storage did not answer."""
MAX_DUE = 200
STEPS_TOLD = 100
"""Steps that one row of the audit trail names; it counts all of them."""
_PLANNED_AGAIN = (State.SPARED, State.TAKEN_BACK)

GuardsOf = Callable[[int, int], Guards]
"""(run id, now_ns) -> what must stay."""


@dataclass(frozen=True, slots=True)
class Round:
    """What one round did: checkpoints."""

    planned: int = 0
    spared: int = 0
    deleted: int = 0
    refused: int = 0


def plan_all(guards_of: GuardsOf, now_ns: int) -> Round:
    """Plans and takes back deletions by the rules of all runs that delete. Idempotent.

    A run that cannot be judged is logged and keeps no other from it.
    """
    planned = spared = 0
    for run in _runs_that_delete():
        try:
            fresh, kept = plan_run(run, guards_of(run.id, now_ns), now_ns)
            planned, spared = planned + fresh, spared + kept
        except Exception:
            log.exception("checkpoints.retention_failed", extra={"run": run.id})
    return Round(planned, spared)


def plan_run(run: RunInfo, guards: Guards, now_ns: int) -> tuple[int, int]:
    """(deletions that begin their day of grace, deletions that are called off) of one run."""
    with transaction.atomic():
        runs.lock_run(run.id)
        found = retention.present_plan(run, guards, now_ns)
        known = retention_store.deletions(run.id)
        fresh = [_planned(run.id, one, now_ns) for one in _new(found, known)]
        spared = list(_spared(found, known, now_ns, deletes=retention.rules_of(run).deletes))
        retention_store.save([*fresh, *spared])
        if fresh:
            after = {
                "steps": [one.step for one in fresh[:STEPS_TOLD]],
                "bytes": sum(o.size_bytes for o in fresh),
            }
            what = many(len(fresh), "checkpoint")
            audit(SYSTEM, "checkpoint_deletion.planned", what, run_id=run.id, after=after)
    return len(fresh), len(spared)


def take_back(run_id: int, key: Key, *, actor: Actor, reason: str, now_ns: int) -> Deletion:
    """Keeps a checkpoint that waits for its deletion, and pins it. Audited.

    Needs the scope operate. NotFound, Conflict once its deletion has begun.
    """
    require(actor, "operate")
    with transaction.atomic():
        runs.lock_run(run_id)
        known = retention_store.lock(run_id, key)
        if known is None:
            raise NotFound("no deletion of this checkpoint is planned", where="step")
        why = reason.strip() or "its deletion was taken back"
        marks.pin(run_id, key, reason=why, actor=actor)
        changed = _changed(known, State.TAKEN_BACK, actor.name, now_ns, why)
        retention_store.save([changed])
        what = f"checkpoint {key[0]}/{key[1]}"
        audit(actor, "checkpoint_deletion.taken_back", what, run_id=run_id, reason=why)
    return changed


def try_again(run_id: int, key: Key, *, actor: Actor, now_ns: int) -> Deletion:
    """Plans a deletion that the storage refused anew, with a day of grace. Needs the scope admin.

    NotFound, Conflict if it was not refused.
    """
    require(actor, "admin")
    with transaction.atomic():
        runs.lock_run(run_id)
        known = retention_store.lock(run_id, key)
        if known is None:
            raise NotFound("no deletion of this checkpoint is planned", where="step")
        changed = replace(
            _changed(known, State.WAITING, actor.name, now_ns, ""), due_ns=now_ns + GRACE_S * _NS
        )
        retention_store.save([changed])
        what = f"checkpoint {key[0]}/{key[1]}"
        audit(actor, "checkpoint_deletion.planned", what, run_id=run_id)
    return changed


def carry_out(guards_of: GuardsOf, now_ns: int, budget_s: float) -> Round:
    """Deletes what has waited long enough, for budget_s at most and no more an hour than
    CHECKPOINT_DELETES_PER_HOUR; killed in between, the next call goes on.

    Each one is judged again at this moment, and refused if what lies there is not exactly what was
    registered.
    """
    end, counts = time.monotonic() + budget_s, Round()
    for one in retention_store.due(now_ns, min(MAX_DUE, _left_this_hour(now_ns))):
        if time.monotonic() > end:
            break
        try:
            state = _carried_out(one, guards_of, now_ns)
        except Exception:
            where = {"run": one.run_id, "attempt": one.attempt, "step": one.step}
            log.exception("checkpoints.delete_failed", extra=where)
            continue
        counts = replace(
            counts,
            spared=counts.spared + (state is State.SPARED),
            deleted=counts.deleted + (state is State.DELETED),
            refused=counts.refused + (state is State.REFUSED),
        )
    return counts


def _left_this_hour(now_ns: int) -> int:
    most: int = settings.CHECKPOINT_DELETES_PER_HOUR
    if not most:
        return MAX_DUE
    return max(0, most - retention_store.deleted_since(now_ns - 3_600 * _NS))


def _runs_that_delete() -> Iterator[RunInfo]:
    """Runs whose rules delete, or still have deletions that wait although they do not any more."""
    seen: set[int] = set(retention_store.runs_with_open())
    for project, run_id in retention_store.deleting():
        seen |= {run_id} if run_id != PROJECT else _of_project(project)
    yield from runs.by_id(sorted(seen)).values()


def _of_project(project: str) -> set[int]:
    found: set[int] = set()
    after = 0
    while page := runs.project_runs(project, after):
        found |= {run.id for run in page}
        after = page[-1].id
    return found - retention_store.own(project)


def _new(found: Plan, known: retention_store.Deletions) -> Iterator[Held]:
    for held in found.dropped:
        before = known.get(held.key)
        if before is None or before.state in _PLANNED_AGAIN:
            yield held


def _planned(run_id: int, held: Held, now_ns: int) -> Deletion:
    return Deletion(
        run_id=run_id,
        attempt=held.attempt,
        step=held.step,
        state=State.WAITING,
        planned_at_ns=now_ns,
        due_ns=now_ns + GRACE_S * _NS,
        changed_at_ns=now_ns,
        changed_by=SYSTEM.name,
        size_bytes=held.size_bytes,
    )


def _spared(
    found: Plan, known: retention_store.Deletions, now_ns: int, *, deletes: bool
) -> Iterator[Deletion]:
    """What waits and is kept by now, or lies there no longer."""
    judged = {one.held.key: one for one in found.decisions}
    for key, one in known.items():
        decision = judged.get(key)
        if one.state is not State.WAITING or (deletes and decision and not decision.keep):
            continue
        why = "it is gone already" if decision is None else "deleting was switched off"
        if decision is not None and decision.keep:
            why = "; ".join(decision.reasons)
        yield _changed(one, State.SPARED, SYSTEM.name, now_ns, why)


def _changed(before: Deletion, after: State, by: str, now_ns: int, why: str) -> Deletion:
    return replace(
        before,
        state=moved(before.state, after),
        changed_at_ns=now_ns,
        changed_by=by,
        message=why[:1_000],
    )


def _carried_out(one: Deletion, guards_of: GuardsOf, now_ns: int) -> State:
    """Judges again, asks the storage, then deletes place by place."""
    if one.state is State.WAITING:
        one = _begun(one, guards_of, now_ns, _storage_says(one))
        if one.state is not State.DELETING:
            return one.state
    for copy in _copies(one):
        if copy.uri not in one.places:
            continue
        outcome = erasing.erase(copy, _sizes(one))
        if outcome.trouble:
            later = replace(one, due_ns=now_ns + AGAIN_S * _NS, message=outcome.trouble[:1_000])
            retention_store.save([later])
            return State.DELETING
        if outcome.objection:
            return _ended(one, State.REFUSED, now_ns, outcome.objection)
    return _ended(one, State.DELETED, now_ns, "")


def _storage_says(one: Deletion) -> Outcome:
    """What speaks against it in any of the places; nothing is deleted."""
    info = store.get(one.run_id, *one.key)
    there = [copy for copy in _copies(one) if copy.state not in GONE]
    if info is None or not there:
        return Outcome(objection="nobody said where it lies")
    for copy in there:
        other = copies_store.elsewhere(one.run_id, one.key, copy.uri)
        if other is not None:
            return Outcome(objection=_shared(copy.uri, *other))
    bare, own = _sizes(one), place(info.path)
    outcomes = (erasing.look(c, info.inventory if c.uri == own else bare) for c in there)
    return next((outcome for outcome in outcomes if not outcome.clear), Outcome())


def _shared(uri: str, run_id: int, at: Key) -> str:
    run = runs.keys([run_id]).get(run_id, "another run")
    return f"{uri} is also step {at[1]} of attempt {at[0]} of {run}"


def _begun(one: Deletion, guards_of: GuardsOf, now_ns: int, storage: Outcome) -> Deletion:
    """Decides in one transaction, after which nobody can lease, pin or choose it any more."""
    with transaction.atomic():
        run = runs.run_by_id(one.run_id)
        runs.lock_run(run.id)
        known = retention_store.lock(run.id, one.key)
        if known is None or known.state is not State.WAITING:
            return known or one
        found = retention.present_plan(run, guards_of(run.id, now_ns), now_ns)
        deletes = retention.rules_of(run).deletes
        kept = list(_spared(found, {one.key: known}, now_ns, deletes=deletes))
        if kept:
            changed = kept[0]
        elif storage.trouble:
            later_ns = now_ns + AGAIN_S * _NS
            changed = replace(known, due_ns=later_ns, message=storage.trouble[:1_000])
        elif storage.objection:
            changed = _changed(known, State.REFUSED, SYSTEM.name, now_ns, storage.objection)
        else:
            changed = _gone(_changed(known, State.DELETING, SYSTEM.name, now_ns, ""), now_ns)
        retention_store.save([changed])
    if changed.state is State.REFUSED:
        _say(changed)
    return changed


def _ended(one: Deletion, state: State, now_ns: int, why: str) -> State:
    with transaction.atomic():
        runs.lock_run(one.run_id)
        changed = _changed(one, state, SYSTEM.name, now_ns, why)
        retention_store.save([changed])
        _say(changed)
    return state


def _say(one: Deletion) -> None:
    audit(
        SYSTEM,
        f"checkpoint_deletion.{one.state.value}",
        f"checkpoint {one.attempt}/{one.step}",
        run_id=one.run_id,
        after={"bytes": one.size_bytes},
        reason=one.message,
    )


def _gone(one: Deletion, now_ns: int) -> Deletion:
    """Says of each place that it is deleted, before its first file is."""
    there = tuple(copy.uri for copy in _copies(one) if copy.state not in GONE)
    for uri in there:
        why = "deleted by the rules of retention"
        observing.deleted(one.run_id, one.key, why=why, at_ns=now_ns, uri=uri)
    return replace(one, places=there)


def _copies(one: Deletion) -> list[Copy]:
    info = store.get(one.run_id, *one.key)
    if info is None:
        return []
    return copies_store.all_places(info, copies_store.of_checkpoint(one.run_id, *one.key))


def _sizes(one: Deletion) -> Inventory:
    """Its files without the stamps, which are those of one place only."""
    info = store.get(one.run_id, *one.key)
    return of_sizes(info.files) if info is not None else {}
