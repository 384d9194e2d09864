"""Every statement against hand-overs: their steps and calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, Max

from apps.rollbacks.domain.handover import (
    Effect,
    Facts,
    HandoverState,
    Kind,
    Step,
    StepState,
)
from apps.rollbacks.launchers.protocol import Made
from apps.rollbacks.models import Handover, HandoverCall, HandoverStep, Order

MAX_DUE, MAX_CALLS = 100, 1_000
_WORKING = HandoverState.WORKING.value


@dataclass(frozen=True, slots=True)
class HandoverInfo:
    """A hand-over. text: why it is not done, "" while nothing is wrong."""

    run_id: int
    order_id: int
    binding_id: int
    kind: Kind
    config: dict[str, Any]
    actor: str
    began_at_ns: int
    state: HandoverState
    changed_at_ns: int
    claimed_until_ns: int
    text: str
    launch: str


@dataclass(frozen=True, slots=True)
class CallInfo:
    """One call of a hand-over."""

    at_ns: int
    step: str
    said: str
    answer: str
    took_ms: int


def add(new: HandoverInfo, effects: Sequence[Effect]) -> bool:
    """Writes down a hand-over with its steps; False if the order has one already. The caller holds
    the lock of the run."""
    if get(new.run_id, new.order_id) is not None:
        return False
    Handover.objects.create(
        run_id=new.run_id,
        order_id=new.order_id,
        binding_id=new.binding_id,
        kind=new.kind.value,
        config=new.config,
        actor=new.actor[:200],
        began_at_ns=new.began_at_ns,
        state=_WORKING,
        changed_at_ns=new.changed_at_ns,
    )
    HandoverStep.objects.bulk_create(
        HandoverStep(
            run_id=new.run_id,
            order_id=new.order_id,
            seq=number,
            key=effect.key,
            words=effect.words,
            state=StepState.PLANNED.value,
        )
        for number, effect in enumerate(effects)
    )
    return True


def get(run_id: int, order_id: int) -> HandoverInfo | None:
    """The hand-over of an order. -- uses the primary key"""
    row = Handover.objects.filter(run_id=run_id, order_id=order_id).first()
    return _info(row) if row else None


def due(now_ns: int) -> list[tuple[int, int]]:
    """(run, order) of hand-overs that wait for a worker, oldest first. -- uses ix_handover_due"""
    rows = Handover.objects.filter(
        state=_WORKING, due_at_ns__lte=now_ns, claimed_until_ns__lte=now_ns
    )
    return list(rows.order_by("due_at_ns").values_list("run_id", "order_id")[:MAX_DUE])


def claim(run_id: int, order_id: int, now_ns: int, until_ns: int) -> HandoverInfo | None:
    """The hand-over for this caller alone until then; None if it has ended, or another caller has
    it or an older one of the run."""
    others = Handover.objects.filter(run_id=run_id, claimed_until_ns__gt=now_ns)
    rows = Handover.objects.filter(
        ~Exists(others),
        run_id=run_id,
        order_id=order_id,
        state=_WORKING,
        claimed_until_ns__lte=now_ns,
    )
    return get(run_id, order_id) if rows.update(claimed_until_ns=until_ns) else None


def keep(run_id: int, order_id: int, claim_ns: int, until_ns: int) -> bool:
    """Keeps a claim, known by its end, for longer; False if it is lost."""
    rows = Handover.objects.filter(
        run_id=run_id, order_id=order_id, state=_WORKING, claimed_until_ns=claim_ns
    )
    return rows.update(claimed_until_ns=until_ns) > 0


def put_off(run_id: int, order_id: int, due_at_ns: int, text: str) -> None:
    """Gives the claim back: to be looked at again from then on."""
    Handover.objects.filter(run_id=run_id, order_id=order_id, state=_WORKING).update(
        claimed_until_ns=0, due_at_ns=due_at_ns, text=text
    )


def end(
    run_id: int, order_id: int, state: HandoverState, at_ns: int, text: str = "", launch: str = ""
) -> None:
    """The only place that ends a hand-over."""
    Handover.objects.filter(run_id=run_id, order_id=order_id, state=_WORKING).update(
        state=state.value, changed_at_ns=at_ns, claimed_until_ns=0, text=text, launch=launch
    )


def reopen(run_id: int, order_id: int, at_ns: int) -> bool:
    """A hand-over that failed, or of which nobody knows, goes on; False if it is neither."""
    rows = Handover.objects.filter(
        run_id=run_id,
        order_id=order_id,
        state__in=(HandoverState.FAILED.value, HandoverState.UNSURE.value),
    )
    changed = rows.update(state=_WORKING, changed_at_ns=at_ns, due_at_ns=0, text="")
    steps = HandoverStep.objects.filter(run_id=run_id, order_id=order_id)
    # The time for "later" begins anew.
    steps.filter(state=StepState.DOING.value).update(began_at_ns=at_ns)
    return changed > 0


def forget_begun(run_id: int, order_id: int) -> None:
    """A person has looked: the step that was begun has not happened."""
    HandoverStep.objects.filter(
        run_id=run_id, order_id=order_id, state=StepState.DOING.value
    ).update(state=StepState.PLANNED.value, before={}, began_at_ns=0)


def steps(run_id: int, order_id: int) -> list[Step]:
    """The steps in their order. -- uses the primary key"""
    rows = HandoverStep.objects.filter(run_id=run_id, order_id=order_id).order_by("seq")
    return [
        Step(
            Effect(row.key, row.words),
            StepState(row.state),
            row.before,
            row.found,
            row.began_at_ns,
        )
        for row in rows
    ]


def begin(run_id: int, order_id: int, key: str, before: Facts, at_ns: int) -> None:
    """A step is about to be done. Committed before anybody is asked to do it."""
    rows = _step(run_id, order_id, key)
    rows.filter(began_at_ns=0).update(began_at_ns=at_ns)
    rows.update(state=StepState.DOING.value, before=dict(before))


def done(run_id: int, order_id: int, key: str, found: Facts, at_ns: int) -> None:
    """A step has happened."""
    _step(run_id, order_id, key).update(
        state=StepState.DONE.value, found=dict(found), done_at_ns=at_ns
    )


def _step(run_id: int, order_id: int, key: str) -> Any:
    return HandoverStep.objects.filter(run_id=run_id, order_id=order_id, key=key)


def note_call(run_id: int, order_id: int, step: str, made: Made, at_ns: int) -> None:
    """Keeps a call, the first MAX_CALLS of a hand-over: a cluster that is away for days is asked
    often, and its answers are alike."""
    rows = HandoverCall.objects.filter(run_id=run_id, order_id=order_id)
    last = rows.aggregate(last=Max("seq"))["last"]
    number = 0 if last is None else last + 1
    if number >= MAX_CALLS:
        return
    HandoverCall.objects.create(
        run_id=run_id,
        order_id=order_id,
        seq=number,
        at_ns=at_ns,
        step=step,
        said=made.said.replace("\x00", ""),
        answer=made.answer.replace("\x00", ""),
        took_ms=made.took_ms,
    )


def calls(run_id: int, order_id: int, *, limit: int = 200) -> list[CallInfo]:
    """The newest calls of a hand-over, oldest first. -- uses the primary key"""
    rows = HandoverCall.objects.filter(run_id=run_id, order_id=order_id).order_by("-seq")
    found = [CallInfo(r.at_ns, r.step, r.said, r.answer, r.took_ms) for r in rows[:limit]]
    return found[::-1]


def without_handover(limit: int = MAX_DUE) -> list[tuple[int, int]]:
    """(run, order) of orders that wait for a launcher and have no hand-over yet, oldest first.
    -- uses one_active_order_a_run"""
    waiting = Order.objects.filter(state="requested", launch="").order_by("id")
    pairs = list(waiting.values_list("run_id", "id")[:limit])
    known = set(
        Handover.objects.filter(run_id__in={run for run, _ in pairs}).values_list(
            "run_id", "order_id"
        )
    )
    return [pair for pair in pairs if pair not in known]


def _info(row: Handover) -> HandoverInfo:
    return HandoverInfo(
        row.run_id,
        row.order_id,
        row.binding_id,
        Kind(row.kind),
        row.config,
        row.actor,
        row.began_at_ns,
        HandoverState(row.state),
        row.changed_at_ns,
        row.claimed_until_ns,
        row.text,
        row.launch,
    )
