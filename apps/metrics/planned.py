"""Wanted changes of a run: what people say, and what is judged again for it."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from apps.accounts.records import Actor
from apps.accounts.services import audit, require
from apps.core.errors import NotFound, Refused
from apps.metrics import store
from apps.metrics.domain.announced import from_config
from apps.metrics.domain.planned import PlannedChange, checked
from apps.metrics.naming import LOOK_BACK_STEPS
from apps.metrics.store import PlannedInfo
from apps.runs import store as runs
from apps.runs.records import AttemptInfo


def planned_of(run_id: int) -> tuple[PlannedChange, ...]:
    """What people said was wanted in a run, and what its configuration announces, by step.

    Two statements. What logged series say is not here: the detector sees it in the rows.
    """
    said = [info.change for info in store.planned(run_id)]
    found = [*said, *from_config(runs.config_of(run_id))]
    return tuple(sorted(found, key=lambda change: change.from_step))


def add(
    run_id: int, asked: PlannedChange, actor: Actor, now_ns: int
) -> tuple[PlannedInfo, list[int]]:
    """Stores what somebody says; with it the attempts to analyse again. Audited.

    The same change again is the one that is there, and nothing is done. Needs the scope operate.
    Attempts that have steps in the change, and the newest one, get a note to be judged again from
    shortly before it on, at most over their last LOOK_BACK_STEPS steps; what is open in it then
    becomes information.
    """
    require(actor, "operate")
    change = checked(asked)
    with transaction.atomic():
        runs.lock_run(run_id)
        standing = store.planned(run_id)
        for info in standing:
            if info.change == change:
                return info, []
        if len(standing) >= store.MAX_PLANNED:
            raise Refused(
                f"a run has at most {store.MAX_PLANNED} planned changes",
                hint="take some back first",
            )
        info = store.add_planned(run_id, change, actor.name, now_ns)
        audit(actor, "planned.added", _name(info), run_id=run_id, after=_told(change))
        return info, _note_again(run_id, change)


def remove(run_id: int, number: int, actor: Actor, now_ns: int) -> tuple[PlannedInfo, list[int]]:
    """Takes a change back; with it the attempts to analyse again. Audited. Twice is once.

    Needs the scope operate. NotFound if the run has no such change.
    """
    require(actor, "operate")
    with transaction.atomic():
        runs.lock_run(run_id)
        info = store.get_planned(run_id, number)
        if info is None:
            raise NotFound(f"this run has no planned change {number}", where="number")
        if not store.remove_planned(run_id, number, actor.name, now_ns):
            return info, []
        audit(actor, "planned.removed", _name(info), run_id=run_id, before=_told(info.change))
        return info, _note_again(run_id, info.change)


def _name(info: PlannedInfo) -> str:
    return f"planned change {info.number}"


def _told(change: PlannedChange) -> dict[str, Any]:
    return {
        "kind": change.kind,
        "from_step": change.from_step,
        "to_step": change.to_step,
        "text": change.text,
    }


def _note_again(run_id: int, change: PlannedChange) -> list[int]:
    attempts = [info for info in runs.attempts(run_id) if _concerned(info, change)]
    for info in attempts:
        first, last = info.first_step or 0, info.last_step or 0
        from_step = max(first, last - LOOK_BACK_STEPS, change.from_step)
        store.note_again(run_id, info.number, from_step)
    return [info.number for info in attempts]


def _concerned(info: AttemptInfo, change: PlannedChange) -> bool:
    """Whether an attempt has steps that the change may explain."""
    if info.first_step is None or info.last_step is None or info.last_step < change.from_step:
        return False
    return change.covers(max(change.from_step, info.first_step))
