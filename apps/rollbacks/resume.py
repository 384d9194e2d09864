"""The resume point: the signed answer to "from where do I start this run?"."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import orjson
from django.conf import settings

from apps.checkpoints import store as checkpoints
from apps.checkpoints.domain import inventory
from apps.checkpoints.records import CheckpointInfo
from apps.incidents import store as incidents
from apps.rollbacks import gather, store
from apps.rollbacks.domain import order as document
from apps.rollbacks.domain.branching import FRAMEWORKS, BranchPlan, Chosen, framework_of, plan
from apps.rollbacks.domain.lineage import Stretch, contains, past
from apps.rollbacks.domain.state import OrderState
from apps.rollbacks.records import OrderInfo, ResumePoint
from apps.runs import store as runs

VERSION = 1
_FOLLOWED = (OrderState.RESUMED, OrderState.RECOVERED)


def resume_point(run_id: int) -> ResumePoint:
    """Where to start: the waiting order, else the newest complete checkpoint of the newest attempt.

    An order that was followed is not given again: later restarts continue from what the new attempt
    saved. Without any checkpoint `step` is None. The same content has the same ETag.
    """
    order = store.active(run_id)
    if order is not None and order.waiting:
        return ordered(order)
    attempts = runs.attempts(run_id)
    newest = attempts[-1].number if attempts else None
    history = past(gather.branches(attempts), newest) if newest is not None else ()
    checkpoint = _newest(run_id, history)
    if checkpoint is None:
        return _sealed(_payload(run_id, source="none", from_attempt=newest))
    followed = _followed(run_id, history)
    chosen = Chosen(
        uri=checkpoint.path,
        step=checkpoint.step,
        branch=_directory(followed, checkpoint),
        skip_ranges=_still_ahead(followed, checkpoint.step),
    )
    payload = _payload(
        run_id,
        source="newest_checkpoint",
        from_attempt=newest,
        checkpoint_attempt=checkpoint.attempt,
        inventory_digest=checkpoint.digest,
        exclude_nodes=_still_excluded(followed),
        issued_at_ns=checkpoint.saved_at_ns,
        warning=_warning(run_id, checkpoint, history),
        **_start(chosen, framework(checkpoint)),
    )
    return _sealed(payload)


def ordered(order: OrderInfo) -> ResumePoint:
    """The order as a resume point."""
    known = checkpoints.get(order.run_id, order.attempt, order.step)
    payload = _payload(
        order.run_id,
        source="order",
        order=order.id,
        state=order.state.value,
        from_attempt=order.from_attempt,
        checkpoint_attempt=order.attempt,
        inventory_digest=order.inventory_digest,
        exclude_nodes=list(order.exclude_nodes),
        reason=order.reason,
        approver=order.approver or order.actor,
        issued_at_ns=order.requested_at_ns,
        **_start(chosen_by(order), framework(known)),
    )
    return _sealed(payload)


def start_of(order: OrderInfo) -> BranchPlan:
    """How the framework that wrote the checkpoint of an order starts from it."""
    known = checkpoints.get(order.run_id, order.attempt, order.step)
    return plan(chosen_by(order), framework(known))


def chosen_by(order: OrderInfo) -> Chosen:
    """What the branch of an order is planned from."""
    return Chosen(order.path, order.step, order.branch_dir, skip_ranges=order.skip_ranges)


def framework(checkpoint: CheckpointInfo | None) -> str | None:
    """Who wrote it, from the names of its files, else as the registry has it; None if it is not
    known any more."""
    if checkpoint is None:
        return None
    found = _framework(checkpoint.path, checkpoint.packed_files)
    known = checkpoint.framework
    return known if found == "plain" and known in FRAMEWORKS else found


@lru_cache(maxsize=64)
def _framework(path: str, packed_files: bytes) -> str:
    # A launcher asks twice a second, and 16,000 names take a while to unpack.
    return framework_of(path, tuple(inventory.unpack(packed_files)))


def _start(chosen: Chosen, framework: str | None) -> dict[str, Any]:
    """The fields that say what to load, where to save, and what a framework has to be told."""
    planned = plan(chosen, framework)
    environment = document.environment(
        uri=chosen.uri, step=chosen.step, branch=chosen.branch, path=planned.load
    )
    return {
        "step": chosen.step,
        "checkpoint_uri": chosen.uri,
        "skip_ranges": [list(pair) for pair in chosen.skip_ranges],
        "env": environment,
        "branch": planned.as_json(),
    }


def _payload(run_id: int, **given: Any) -> dict[str, Any]:
    """Every field, so that a launcher never has to ask whether one is there."""
    return {
        "version": VERSION,
        "run": runs.run_by_id(run_id).key,
        "source": "none",
        "order": None,
        "state": None,
        "from_attempt": None,
        "step": None,
        "checkpoint_uri": None,
        "checkpoint_attempt": None,
        "inventory_digest": None,
        "exclude_nodes": [],
        "skip_ranges": [],
        "reason": "",
        "approver": "",
        "issued_at_ns": None,
        "env": {},
        "branch": None,
        "warning": "",
        **given,
    }


def _sealed(payload: dict[str, Any]) -> ResumePoint:
    signed = document.sign(payload, settings.ORDER_SIGNING_KEY)
    return ResumePoint(
        document=signed,
        body=orjson.dumps(signed, option=orjson.OPT_SORT_KEYS),
        etag=document.etag(signed),
        order_id=payload["order"],
        step=payload["step"],
    )


def _newest(run_id: int, history: tuple[Stretch, ...]) -> CheckpointInfo | None:
    """The newest complete checkpoint that leads to the newest attempt and is still there."""
    known = checkpoints.checkpoints(run_id)
    written = {c.path: c.saved_at_ns for c in sorted(known, key=lambda c: c.saved_at_ns)}
    usable = [
        c
        for c in known
        if c.complete and contains(history, c.attempt, c.step) and written[c.path] == c.saved_at_ns
    ]
    return max(usable, key=lambda c: (c.attempt, c.step), default=None)


def _followed(run_id: int, history: tuple[Stretch, ...]) -> list[OrderInfo]:
    """The orders that led to the newest attempt, newest first."""
    attempts = {stretch.attempt for stretch in history}
    return [
        order
        for order in reversed(store.orders(run_id))
        if order.state in _FOLLOWED and order.resumed_attempt in attempts
    ]


def _directory(followed: Sequence[OrderInfo], checkpoint: CheckpointInfo) -> str:
    """Where the next saves go: the directory of the checkpoint, or the branch of its order."""
    for order in followed:
        if (order.attempt, order.step) == (checkpoint.attempt, checkpoint.step):
            return order.branch_dir
    return checkpoint.path.rstrip("/").rpartition("/")[0] or checkpoint.path


def _still_ahead(followed: Sequence[OrderInfo], step: int) -> tuple[tuple[int, int], ...]:
    """Data to skip that a start from `step` comes to: also after the restart that follows one."""
    ahead = {pair for order in followed for pair in order.skip_ranges if pair[1] > step}
    return tuple(sorted(ahead))


def _still_excluded(followed: Sequence[OrderInfo]) -> list[str]:
    """Nodes not to use until it is known whether the newest rollback helped."""
    waiting = [order for order in followed[:1] if order.state is OrderState.RESUMED]
    return [node for order in waiting for node in order.exclude_nodes]


def _warning(run_id: int, checkpoint: CheckpointInfo, history: tuple[Stretch, ...]) -> str:
    """An open incident that began before this checkpoint: starting here goes back into it."""
    for incident in incidents.waiting([run_id]):
        onset = incident.onset_step
        if not incident.page or onset is None or onset > checkpoint.step:
            continue
        if incident.kind != "failure" and contains(history, incident.attempt, onset):
            return (
                f"{incident.label} is {incident.state} and began at step {onset}, before this "
                "checkpoint; order a rollback"
            )
    return ""
