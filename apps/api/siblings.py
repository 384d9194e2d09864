"""The runs that a run is compared with, and where it stands among them."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja import Field, Router, Schema

from apps.api.auth import caller, needs
from apps.api.errors import Missing
from apps.api.lookup import Attempt, run_of
from apps.core.clock import now_ns
from apps.core.errors import AppError
from apps.ingest.comparing import compare_with
from apps.metrics import outlook, siblings
from apps.metrics import store as metrics
from apps.metrics.store import Reference, SiblingSet
from apps.runs import store as runs
from apps.runs.records import RunInfo

router = Router(auth=needs("read"))


class ReferenceIn(Schema):
    """attempt: compare with the run up to this attempt; null: with all that counts of it.
    compute: floating-point operations of its whole training."""

    run: str
    attempt: Attempt | None = None
    compute: float | None = None


class SiblingsIn(Schema):
    """Replaces what was chosen. total_steps, compute: of the run itself. version: the one that was
    read (0: nothing yet); 409 when it is no longer the newest."""

    version: int
    references: list[ReferenceIn] = Field(default_factory=list)
    total_steps: int
    compute: float | None = None
    reason: str = ""


class ReferenceOut(ReferenceIn):
    """final: the median loss of the last 1 % of its schedule, null before that. why_not: why it
    is not compared with, "" if it is."""

    total_steps: int | None
    final: float | None
    why_not: str


class PlaceOut(Schema):
    """The newest 1/400 of the schedule that is over."""

    ratio: float
    value: float
    expected: float
    width: float
    above: bool


class ForetoldOut(Schema):
    """loss, error: null where nothing is foretold; why_not says why."""

    loss: float | None = None
    error: float | None = None
    why_not: str = ""


class SiblingsOut(Schema):
    """by_siblings: the final loss if the distance stays as it is. extrapolation: by the final
    losses of completed runs of other sizes; error is what leaving one out is off by."""

    version: int
    changed_at_ns: int
    changed_by: str
    total_steps: int | None
    compute: float | None
    references: list[ReferenceOut]
    place: PlaceOut | None
    by_siblings: ForetoldOut
    extrapolation: ForetoldOut


NOTHING = "nothing is chosen to compare with"


def _shape(run: RunInfo) -> dict[str, Any]:
    chosen = metrics.siblings_of(run.id)
    nothing: dict[str, Any] = {"place": None, "by_siblings": {"why_not": NOTHING},
                               "extrapolation": {"why_not": NOTHING}}  # fmt: skip
    if chosen is None:
        return {"version": 0, "changed_at_ns": 0, "changed_by": "", "total_steps": None,
                "compute": None, "references": [], **nothing}  # fmt: skip
    return {
        "version": chosen.version,
        "changed_at_ns": chosen.changed_at_ns,
        "changed_by": chosen.changed_by,
        "total_steps": chosen.total_steps,
        "compute": chosen.compute,
        "references": _references(chosen),
        **(_told(run, chosen) if chosen.references else nothing),
    }


def _references(chosen: SiblingSet) -> list[dict[str, Any]]:
    keys = runs.keys({one.run_id for one in chosen.references})
    read = zip(chosen.references, siblings.known(chosen).curves, strict=True)
    return [
        {
            "run": keys[one.run_id],
            "attempt": one.attempt,
            "compute": one.compute,
            "total_steps": curve.total_steps,
            "final": curve.final,
            "why_not": curve.why_not,
        }
        for one, curve in read
    ]


def _told(run: RunInfo, chosen: SiblingSet) -> dict[str, Any]:
    newest = runs.attempt(run.id, None)
    shown = siblings.shown(run.id, newest.number, chosen) if newest else None
    place = outlook.place(shown) if shown else None
    ending = outlook.ending_or_why(shown)
    far = outlook.extrapolation_or_why(chosen)
    return {
        "place": place and {"ratio": place.ratio, "value": place.value, "width": place.width,
                            "expected": place.expected, "above": place.above},
        "by_siblings": _foretold(ending),
        "extrapolation": _foretold(far),
    }  # fmt: skip


def _foretold(said: Any) -> dict[str, Any]:
    if isinstance(said, AppError):
        return {"why_not": said.message}
    return {"loss": said.loss, "error": said.error}


@router.get(
    "/runs/{key}/siblings",
    response=SiblingsOut,
    summary="What a run is compared with, and where it stands",
)
def get_siblings(request: HttpRequest, key: str) -> dict[str, Any]:
    return _shape(run_of(key))


@router.put(
    "/runs/{key}/siblings",
    response=SiblingsOut,
    auth=needs("operate"),
    summary="Choose the runs that a run is compared with",
    description="They are read at once; the newest attempt is judged by them with the next "
    "analysis, and from then on.",
)
def put_siblings(request: HttpRequest, key: str, payload: SiblingsIn) -> dict[str, Any]:
    run = run_of(key)
    references = tuple(_reference(one) for one in payload.references)
    asked = SiblingSet(references, payload.total_steps, payload.compute, version=payload.version)
    compare_with(run.id, asked, caller(request), reason=payload.reason, now_ns=now_ns())
    return _shape(run)


def _reference(one: ReferenceIn) -> Reference:
    found = runs.get_run(one.run)
    if found is None:
        raise Missing(f'no run "{one.run[:128]}"', where="references")
    return Reference(found.id, one.attempt, one.compute)
