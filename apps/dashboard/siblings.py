"""The page of siblings of a run: which there are, which are chosen, what comes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from django.http import QueryDict

from apps.core.errors import AppError
from apps.core.words import whole
from apps.metrics import curves, naming, outlook, siblings
from apps.metrics import store as metrics
from apps.metrics.curves import Curve
from apps.metrics.domain import schedule
from apps.metrics.domain.extrapolation import SAME_SIZE_RATIO, Extrapolation
from apps.metrics.domain.sibling import CELLS, Floats
from apps.metrics.store import Reference, SiblingSet
from apps.runs import store as runs
from apps.runs.records import AttemptInfo, RunInfo

Plan = tuple[int | None, float | None]
"""Steps of the schedule and compute of the run that is looked at."""
MAX_OPTIONS = 30
SUGGESTED = 3


@dataclass(frozen=True, slots=True)
class Option:
    """A run, or an earlier attempt of this one, to compare with. how: earlier attempt, same size,
    other size or size unknown. suggested: finished, with the schedule of this run. curve: what was
    read of it, if it is chosen. other_lr: how far its learning rate is from another shape."""

    run: RunInfo
    attempt: int | None
    how: str
    total_steps: int | None
    last_step: int | None
    compute: float | None
    suggested: bool
    chosen: bool = False
    curve: Curve | None = None
    other_lr: float | None = None

    @property
    def place(self) -> str:
        """As the form sends it."""
        return f"{self.run.id}" if self.attempt is None else f"{self.run.id}:{self.attempt}"

    @property
    def typed_compute(self) -> str:
        """As the form shows it."""
        return "" if self.compute is None else f"{self.compute:.4g}"


@dataclass(frozen=True, slots=True)
class Scene:
    """Everything the page shows. ending, extrapolation: what is foretold, or why not in words."""

    run: RunInfo
    chosen: SiblingSet | None
    options: Sequence[Option]
    total_steps: int | None
    compute: float | None
    shown: siblings.Shown | None = None
    place: outlook.Place | None = None
    ending: outlook.Ending | AppError | None = None
    extrapolation: Extrapolation | AppError | None = None

    @property
    def typed_compute(self) -> str:
        """As the form shows it."""
        return "" if self.compute is None else f"{self.compute:.4g}"

    @property
    def percent(self) -> int:
        """How much of the schedule is over."""
        return round(100 * self.place.ratio) if self.place else 0


def scene(run: RunInfo) -> Scene:
    """The page of a run. Fewer than twenty statements, however many runs there are."""
    chosen, attempts = metrics.siblings_of(run.id), runs.attempts(run.id)
    newest = attempts[-1] if attempts else None
    total = chosen.total_steps if chosen else curves.schedule_of(run, newest)
    compute = chosen.compute if chosen else schedule.compute_flops(run.config)
    options = _options(run, attempts, (total, compute), chosen)
    if chosen is None or newest is None or not chosen.references:
        return Scene(run, chosen, options, total, compute)
    shown = siblings.shown(run.id, newest.number, chosen)
    return Scene(
        run, chosen, options, total, compute, shown,
        place=outlook.place(shown) if shown else None,
        ending=outlook.ending_or_why(shown),
        extrapolation=outlook.extrapolation_or_why(chosen),
    )  # fmt: skip


def _options(
    run: RunInfo, attempts: Sequence[AttemptInfo], plan: Plan, chosen: SiblingSet | None
) -> list[Option]:
    found = [
        Option(run, info.number, "earlier attempt", plan[0], info.last_step, plan[1],
               suggested=False)
        for info in attempts[:-1]
        if info.last_step is not None
    ][-5:]  # fmt: skip
    others = [one for one in runs.newest_runs(run.project, MAX_OPTIONS + 1) if one.id != run.id]
    newest = runs.newest_attempts([one.id for one in others])
    found += [_option(one, newest.get(one.id), plan) for one in others]
    found.sort(key=lambda one: not one.suggested)
    return _with_chosen(run, found, chosen)


def _option(run: RunInfo, newest: AttemptInfo | None, plan: Plan) -> Option:
    total, compute = curves.schedule_of(run, newest), schedule.compute_flops(run.config)
    last = newest.last_step if newest else None
    whole_run = total is not None and last is not None and last + 1 >= curves.COMPLETE_SHARE * total
    how = _size(compute, plan[1])
    fits = whole_run and how != "other size" and plan[0] in (None, total)
    return Option(run, None, how, total, last, compute, suggested=fits)


def _size(compute: float | None, own: float | None) -> str:
    if compute is None or own is None:
        return "size unknown"
    near = max(compute, own) <= SAME_SIZE_RATIO * min(compute, own)
    return "same size" if near else "other size"


def _with_chosen(run: RunInfo, found: Sequence[Option], chosen: SiblingSet | None) -> list[Option]:
    """Marks what is chosen; before the first choice, the first that are suggested."""
    if chosen is None:
        marked = [one.place for one in found if one.suggested][:SUGGESTED]
        return [replace(one, chosen=one.place in marked) for one in found]
    read = siblings.known(chosen).curves
    places = {
        (ref.run_id, ref.attempt): (ref, c) for ref, c in zip(chosen.references, read, strict=True)
    }
    own = (chosen.compute, _own_lr(run, chosen))
    known = {one.place for one in found}
    missing = runs.by_id({ref.run_id for ref in chosen.references})
    extra = [
        Option(missing[ref.run_id], ref.attempt, _size(ref.compute, chosen.compute),
               curve.total_steps, missing[ref.run_id].last_step, ref.compute, suggested=False)
        for ref, curve in places.values()
    ]  # fmt: skip
    options = [*found, *(one for one in extra if one.place not in known)]
    return [_of_choice(one, places.get((one.run.id, one.attempt)), own) for one in options]


def _of_choice(
    one: Option, read: tuple[Reference, Curve] | None, own: tuple[float | None, Floats]
) -> Option:
    """own: compute and learning rate of the run that is looked at."""
    compute, own_lr = own
    if read is None:
        return one
    reference, curve = read
    how = one.how if one.attempt is not None else _size(reference.compute, compute)
    return replace(
        one, how=how, suggested=one.suggested and how != "other size", chosen=True,
        compute=reference.compute, curve=curve,
        other_lr=outlook.other_shape(own_lr, curve),
    )  # fmt: skip


def _own_lr(run: RunInfo, chosen: SiblingSet) -> Floats:
    roles, attempts = naming.roles_of(run.id), runs.attempts(run.id)
    if roles.lr is None or not attempts:
        return np.full(CELLS, np.nan)
    parts = curves.lineage(attempts, attempts[-1].number)
    return curves.read_cells(run.id, parts, roles.lr, chosen.total_steps).value


def read_form(sent: QueryDict) -> SiblingSet:
    """What was chosen; AppError names the field that is no number."""
    total = whole(sent.get("total_steps", "").strip().replace(",", ""))
    if total is None:
        raise AppError("say how many steps the schedule of this run has", where="total_steps")
    references = tuple(_reference(place, sent) for place in sent.getlist("ref"))
    version = whole(sent.get("version", ""), 10**9) or 0
    return SiblingSet(references, total, _compute(sent.get("compute", "")), version=version)


def _reference(place: str, sent: QueryDict) -> Reference:
    run_id, _, attempt = place.partition(":")
    number = whole(run_id)
    if number is None or not runs.by_id([number]):
        raise AppError("no such run", where="references")
    return Reference(number, whole(attempt), _compute(sent.get(f"compute-{place}", "")))


def _compute(text: str) -> float | None:
    if not text.strip():
        return None
    try:
        return float(text)
    except ValueError:
        raise AppError(
            f'"{text[:40]}" is no compute', where="compute", hint="such as 6.2e21"
        ) from None
