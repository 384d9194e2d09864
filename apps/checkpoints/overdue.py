"""Saves that were begun and never ended."""

from __future__ import annotations

from collections.abc import Mapping

from django.db import transaction

from apps.checkpoints import store
from apps.checkpoints.checks import check_of, moved, tell
from apps.checkpoints.domain.lifecycle import Event, overdue
from apps.checkpoints.domain.saves import DEFAULT_POLICY, SavePolicy, habit
from apps.checkpoints.domain.spoken import SILENT_ENDS
from apps.checkpoints.records import CheckpointInfo
from apps.core.words import duration
from apps.runs import store as runs


def fail_overdue(
    newest_ns: Mapping[int, int], now_ns: int, policy: SavePolicy = DEFAULT_POLICY
) -> int:
    """Saves that are under way for 3 usual save times have failed; how many.

    newest_ns: run id -> the time of its newest data, by the clock of its job, of runs that are in
    contact: while nothing comes nobody knows what is saved. Of all others our clock counts: a save
    that was open when the job ended never ends. What only a log line began fails only where the
    framework would have printed its end. One transaction a run that has such.
    """
    waiting = store.open_saves()
    if not waiting:
        return 0
    usual = {run: habit(saves).save_s for run, saves in store.newest_saves(list(waiting)).items()}
    failed = 0
    for run_id, saves in waiting.items():
        at_ns = newest_ns.get(run_id, now_ns)
        late = [info for info in saves if _is_late(info, at_ns, usual.get(run_id), policy)]
        failed += _fail(run_id, late, at_ns, usual.get(run_id))
    return failed


def _is_late(
    info: CheckpointInfo, at_ns: int, usual_save_s: float | None, policy: SavePolicy
) -> bool:
    if info.source == "log" and info.framework.replace("unknown", "") in SILENT_ENDS:
        return False
    limits = {"factor": policy.failed_factor, "floor_s": policy.failed_floor_s}
    return overdue(info.state_at_ns, at_ns, usual_save_s, **limits)


def _fail(run_id: int, late: list[CheckpointInfo], at_ns: int, usual_save_s: float | None) -> int:
    if not late:
        return 0
    failed = 0
    usual = "" if usual_save_s is None else f", a save usually takes {duration(usual_save_s)}"
    with transaction.atomic():
        runs.lock_run(run_id)
        for info in late:
            known = store.lock(run_id, info.attempt, info.step)
            if known is None or known.state is not info.state:
                continue
            waited = duration((at_ns - known.state_at_ns) / 1e9)
            why = f"not committed {waited} after it was {known.state.value}{usual}"
            check = moved(check_of(known), Event.OVERDUE, at_ns, why)
            store.save_check(run_id, info.attempt, info.step, check)
            failed += 1
        transaction.on_commit(lambda: tell(run_id), robust=True)
    return failed
