"""Runs that a run is compared with: which, by whom chosen, and where it leaves their band."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import msgspec
from django.db import transaction

from apps.accounts.records import Actor
from apps.accounts.services import audit, require
from apps.core.errors import AppError, Conflict, Refused
from apps.core.records import Finding
from apps.metrics import curves, store
from apps.metrics.curves import Curve, floats, listed
from apps.metrics.domain import sibling
from apps.metrics.domain.band_words import finding_of
from apps.metrics.domain.reports import taken_back
from apps.metrics.domain.sibling import CELLS, Floats, cells_done, first_step
from apps.metrics.look import Look
from apps.metrics.store import Reference, SiblingSet
from apps.metrics.store.detectors import DetectorState
from apps.runs import store as runs
from apps.runs.records import AttemptInfo

BAND = "sibling_band"
MAX_REFERENCES = 8
OTHERS = "other runs are compared with since"
STATE_VERSION = 1


class Known(msgspec.Struct):
    """What was read of the references. spread: `sibling.spread` of those that are compared with."""

    curves: list[Curve]
    spread: list[float | None]


class BandState(msgspec.Struct):
    """Of one attempt. chosen: the version of the set. done: cells that are over. own, center,
    width: by cell. told: the findings as they were told."""

    version: int = STATE_VERSION
    chosen: int = 0
    done: int = 0
    own: list[float | None] = []
    times: list[int] = []
    center: list[float | None] = []
    width: list[float | None] = []
    told: dict[str, Finding] = {}


@dataclass(frozen=True, slots=True)
class Shown:
    """The band of an attempt as it was last computed, by cell; NaN where nothing is said.
    departed: whether the run has left it and not come back."""

    total_steps: int
    done: int
    departed: bool
    own: Floats
    center: Floats
    width: Floats
    compared: int


# -- choosing ---------------------------------------------------------------------------------


def choose(run_id: int, asked: SiblingSet, actor: Actor, *, reason: str, now_ns: int) -> int | None:
    """Stores which runs a run is compared with, and reads them; the attempt to analyse again.

    Needs the scope operate. Audited. asked.version: the one that was looked at (0: none yet);
    Conflict if it is no longer the newest. No references: the run is compared with none. AppError
    names what cannot be compared with.
    """
    require(actor, "operate")
    _check(run_id, asked)
    read = [curves.read_curve(one, _total(run_id, one, asked)) for one in asked.references]
    with transaction.atomic():
        runs.lock_run(run_id)
        before = store.siblings_of(run_id, lock=True)
        if (before.version if before else 0) != asked.version:
            who = before.changed_by if before else "somebody"
            raise Conflict(f"{who} chose others meanwhile", hint="look again, then choose")
        after = replace(
            asked,
            curves=_packed(read),
            version=asked.version + 1,
            changed_at_ns=now_ns,
            changed_by=actor.name,
        )
        store.save_siblings(run_id, after)
        audit(
            actor, "siblings.chosen", "siblings", run_id=run_id,
            before=_told(before), after=_told(after), reason=reason,
        )  # fmt: skip
        newest = runs.attempt(run_id, None)
        if newest is None or newest.last_step is None:
            return None
        store.note_again(run_id, newest.number, newest.last_step + 1)
        return newest.number


def _check(run_id: int, asked: SiblingSet) -> None:
    if not 0 < asked.total_steps <= 2**53:
        raise AppError("say how many steps the schedule of this run has", where="total_steps")
    if len(asked.references) > MAX_REFERENCES:
        raise Refused(f"choose at most {MAX_REFERENCES} runs", where="references")
    places = [(one.run_id, one.attempt) for one in asked.references]
    if len(set(places)) < len(places) or (run_id, None) in places:
        raise AppError("a run is compared with others, each once", where="references")
    for compute in (asked.compute, *(one.compute for one in asked.references)):
        if compute is not None and not 0 < compute < 1e40:
            raise AppError("a compute is a number above 0", where="compute")


def _total(run_id: int, one: Reference, asked: SiblingSet) -> int | None:
    """An earlier attempt follows the schedule of its run."""
    return asked.total_steps if one.run_id == run_id else None


def _told(chosen: SiblingSet | None) -> dict[str, Any]:
    if chosen is None:
        return {}
    places = [
        f"run {one.run_id}" + ("" if one.attempt is None else f" attempt {one.attempt}")
        for one in chosen.references
    ]
    return {"references": places, "total_steps": chosen.total_steps, "compute": chosen.compute}


def _packed(read: list[Curve]) -> bytes:
    compared = [one.cells() for one in read if not one.why_not]
    return msgspec.msgpack.encode(Known(read, listed(sibling.spread(compared))))


def known(chosen: SiblingSet) -> Known:
    """What was read of the references, in their order."""
    return msgspec.msgpack.decode(chosen.curves, type=Known)


# -- judging ----------------------------------------------------------------------------------


def judge(look: Look) -> list[Finding]:
    """Departures from the band of the references that opened or closed since the last call.

    Call it inside the transaction that stores them. One statement where nothing was chosen, two
    until the next 1/400 of the schedule is over; then about 20 ms a reference. Rows that come later
    than the cell they belong to are left out.
    """
    run_id, attempt = look.run_id, look.attempt
    chosen = store.siblings_of(run_id)
    own = runs.attempt(run_id, attempt) if chosen else None
    if chosen is None or own is None or own.last_step is None:
        return []
    locked = store.lock_detector(run_id, attempt, BAND)
    state = _loaded(locked)
    done = cells_done(own.last_step, chosen.total_steps)
    fresh = state.chosen != chosen.version
    if not fresh and done <= state.done:
        return []
    before = state.told
    state = _read(look, own, chosen, (BandState(chosen=chosen.version) if fresh else state, done))
    found = _judged(look, chosen, state)
    gone = [one for key, one in before.items() if key not in found and one.closed_step is None]
    store.save_detector(
        run_id, attempt, BAND, DetectorState(own.last_step, msgspec.msgpack.encode(state))
    )
    news = [one for key, one in found.items() if before.get(key) != one]
    return news + [taken_back(one, None, f"{OTHERS} step {{onset}}") for one in gone]


def _loaded(locked: DetectorState) -> BandState:
    try:
        state = msgspec.msgpack.decode(locked.state or b"", type=BandState)
    except (msgspec.DecodeError, msgspec.ValidationError):
        return BandState()
    return state if state.version == STATE_VERSION else BandState()


def _read(look: Look, own: AttemptInfo, chosen: SiblingSet, at: tuple[BandState, int]) -> BandState:
    """The state with the cells that are over by now. at: (state, cells that are over)."""
    state, done = at
    run_id, loss, total = look.run_id, look.roles.loss, chosen.total_steps
    if not state.own:
        state.own, state.times = [None] * CELLS, [0] * CELLS
    if loss is not None and done > state.done:
        parts = curves.lineage(runs.attempts(run_id), own.number) if state.done == 0 else []
        since = first_step(state.done, total)
        read = curves.read_cells(run_id, parts or [(own.number, None)], loss, total, since)
        cells = slice(state.done, done)
        state.own[cells] = listed(read.value[cells])
        state.times[cells] = read.time_ns[cells]
    state.done = done
    return state


def _judged(look: Look, chosen: SiblingSet, state: BandState) -> dict[str, Finding]:
    """key -> finding of every departure; puts them and the band into the state."""
    read = _refreshed(look.run_id, chosen)
    compared = [one.cells() for one in read.curves if not one.why_not]
    state.told = {}
    if not compared:
        state.center = state.width = []
        return {}
    own = floats(state.own)
    band = sibling.judge(own, compared, floats(read.spread))
    state.center, state.width = listed(band.center), listed(band.width)
    found = {}
    for one in band.departures:
        place = (look.attempt, chosen.total_steps, len(compared))
        finding = finding_of(one, place, state.times, look.roles.loss or "loss", look.planned)
        found[finding.key] = finding
    state.told = found
    return found


def _refreshed(run_id: int, chosen: SiblingSet) -> Known:
    """The references as they were read; those that still ran then are read again."""
    read = known(chosen)
    if all(one.complete or one.why_not for one in read.curves):
        return read
    again = [
        old if old.complete or old.why_not
        else curves.read_curve(one, _total(run_id, one, chosen))
        for one, old in zip(chosen.references, read.curves, strict=True)
    ]  # fmt: skip
    packed = _packed(again)
    store.save_curves(run_id, chosen.version, packed)
    return msgspec.msgpack.decode(packed, type=Known)


def shown(run_id: int, attempt: int, chosen: SiblingSet) -> Shown | None:
    """The band of an attempt as it was last computed; None before its first cell."""
    try:
        data = store.detector_state(run_id, attempt, BAND) or b""
        state = msgspec.msgpack.decode(data, type=BandState)
    except (msgspec.DecodeError, msgspec.ValidationError):
        return None
    if not state.center or state.chosen != chosen.version:
        return None
    compared = sum(not one.why_not for one in known(chosen).curves)
    departed = any(one.closed_step is None for one in state.told.values())
    return Shown(
        chosen.total_steps, state.done, departed, floats(state.own), floats(state.center),
        floats(state.width), compared,
    )  # fmt: skip
