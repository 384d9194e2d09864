"""Handing an order over to a launcher, and who starts a run."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.http import HttpRequest
from ninja import Field, Router, Schema

from apps.api.auth import caller, needs
from apps.api.errors import Missing
from apps.api.lookup import run_of
from apps.core.clock import now_ns
from apps.core.errors import AppError
from apps.rollbacks import store as orders
from apps.rollbacks.domain.handover import Kind
from apps.rollbacks.launchers import bindings, bindings_store, handing, kinds, store
from apps.rollbacks.launchers.bindings import BindingAsked
from apps.rollbacks.launchers.bindings_store import BindingInfo
from apps.rollbacks.launchers.http import Access
from apps.runs.records import RunInfo

router = Router(auth=needs("read"))


class StepOut(Schema):
    """One thing that the launcher does. state: planned, doing or done."""

    words: str
    state: str


class CallOut(Schema):
    """A command or request and its answer."""

    at_ns: int
    step: str
    said: str
    answer: str
    took_ms: int


class HandoverOut(Schema):
    """state: planned (a dry run: nothing has begun), working, done, failed, unsure or stopped.
    text: why it is not done. launch: the name of the start."""

    state: str
    kind: str
    text: str = ""
    launch: str = ""
    steps: list[StepOut]
    calls: list[CallOut] = Field(default_factory=list)


@router.get(
    "/runs/{key}/orders/{order}/hand-over",
    response=HandoverOut,
    summary="How far the launcher is, or what it would do",
)
def get_handover(request: HttpRequest, key: str, order: int) -> dict[str, Any]:
    run = run_of(key)
    found = store.get(run.id, order)
    if found is None:
        return _dry_run(run, order)
    steps = store.steps(run.id, order)
    return {
        "state": found.state.value,
        "kind": found.kind.value,
        "text": found.text,
        "launch": found.launch,
        "steps": [{"words": s.effect.words, "state": s.state.value} for s in steps],
        "calls": [asdict(call) for call in store.calls(run.id, order)],
    }


def _dry_run(run: RunInfo, number: int) -> dict[str, Any]:
    order, binding = orders.get(run.id, number), handing.binding_of(run)
    if order is None or binding is None:
        raise Missing("no such order in this run, or no launcher is set up for it", where="order")
    effects, problem = handing.try_effects(run, order)
    return {
        "state": "planned",
        "kind": binding.kind.value,
        "text": problem,
        "steps": [{"words": effect.words, "state": "planned"} for effect in effects],
    }


@router.post(
    "/runs/{key}/orders/{order}/hand-over",
    response=HandoverOut,
    auth=needs("operate"),
    summary="Let the launcher follow the order now",
)
def hand_over(request: HttpRequest, key: str, order: int) -> dict[str, Any]:
    handing.hand_over(run_of(key).id, order, caller(request))
    return get_handover(request, key, order)


class AgainIn(Schema):
    """nothing_happened: you have looked, and the step of which nobody knew has not happened."""

    nothing_happened: bool = False


@router.post(
    "/runs/{key}/orders/{order}/hand-over/again",
    response=HandoverOut,
    auth=needs("operate"),
    summary="Let a failed hand-over go on where it stopped",
)
def again(request: HttpRequest, key: str, order: int, payload: AgainIn) -> dict[str, Any]:
    happened = payload.nothing_happened
    handing.again(run_of(key).id, order, caller(request), nothing_happened=happened)
    return get_handover(request, key, order)


class LauncherIn(Schema):
    """config: the fields of the kind, see docs/orders.md. url, token, ca: "" keeps what there is.
    version: of what you have seen, 0 for a new one. automatic: it follows orders by itself."""

    kind: Kind
    config: dict[str, str | bool] = Field(default_factory=dict, max_length=20)
    url: str = ""
    token: str = ""
    ca: str = ""
    whole_project: bool = False
    automatic: bool = False
    enabled: bool = True
    version: int = 0


class LauncherOut(Schema):
    """run "": for every run of the project. shown: the host of its address."""

    project: str
    run: str
    kind: str
    config: dict[str, Any]
    shown: str
    automatic: bool
    enabled: bool
    version: int
    changed_at_ns: int
    changed_by: str


@router.get(
    "/runs/{key}/launcher",
    response=list[LauncherOut],
    summary="Who starts a run again: its own launcher, then its project's",
)
def get_launcher(request: HttpRequest, key: str) -> list[dict[str, Any]]:
    run = run_of(key)
    found = [bindings_store.get(run.project, name) for name in (run.key, "")]
    return [_shape(one) for one in found if one is not None]


@router.put(
    "/runs/{key}/launcher",
    response=list[LauncherOut],
    auth=needs("admin"),
    summary="Set who starts a run, or every run of its project",
)
def set_launcher(request: HttpRequest, key: str, payload: LauncherIn) -> list[dict[str, Any]]:
    said = payload.dict()
    if said["kind"] not in kinds.WORDS:
        raise AppError("no such kind of launcher here", where="kind")
    access = Access(said.pop("url"), said.pop("token"), said.pop("ca"))
    bindings.save(run_of(key), BindingAsked(access=access, **said), caller(request), now_ns())
    return get_launcher(request, key)


@router.delete(
    "/runs/{key}/launcher",
    response=list[LauncherOut],
    auth=needs("admin"),
    summary="Remove a launcher; the answer is what is left",
)
def remove_launcher(
    request: HttpRequest, key: str, whole_project: bool = False
) -> list[dict[str, Any]]:
    bindings.remove(run_of(key), caller(request), whole_project=whole_project)
    return get_launcher(request, key)


def _shape(found: BindingInfo) -> dict[str, Any]:
    names = LauncherOut.model_fields.keys() - {"run", "kind"}
    values = {name: getattr(found, name) for name in names}
    return {**values, "run": found.run_key, "kind": found.kind.value}
