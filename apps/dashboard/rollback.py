"""The rollback drawer: candidates, options, and a preview of the exact order."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from apps.accounts.records import Actor
from apps.checkpoints import store as checkpoints
from apps.core.records import Candidate
from apps.core.words import whole
from apps.dashboard import board
from apps.incidents.domain.incident import IncidentInfo
from apps.rollbacks import choosing, resume, store
from apps.rollbacks.domain.order import branch_directory
from apps.rollbacks.domain.ranking import Ranking
from apps.rollbacks.domain.state import OrderState
from apps.rollbacks.records import OrderEventInfo, OrderInfo, RollbackRequest
from apps.runs import store as runs
from apps.runs.records import RunInfo

STAGES = ("requested", "acknowledged", "resumed", "recovered")
_ENDED = {"failed", "superseded", "cancelled"}
_NUMBER = "<number>"


@dataclass(frozen=True, slots=True)
class Form:
    """What was typed. choice: "attempt:step"; skip: "from-to" or empty."""

    choice: str = ""
    previewed: str = ""
    confirm: str = ""
    reason: str = ""
    key: str = ""
    exclude: tuple[str, ...] = ()
    skip_from: str = ""
    skip_to: str = ""
    force: bool = False
    supersede: bool = False

    @property
    def chosen(self) -> tuple[int, int] | None:
        """(attempt, step) of the choice; None if it is none."""
        attempt, _, step = (whole(part) for part in self.choice.partition(":"))
        return None if attempt is None or step is None else (attempt, step)

    @property
    def skip(self) -> tuple[tuple[int, int], ...]:
        """Steps whose data to skip."""
        first, last = whole(self.skip_from), whole(self.skip_to)
        return () if first is None or last is None else ((first, last),)


def read_form(data: Mapping[str, str], exclude: Sequence[str]) -> Form:
    """The posted form."""
    names = ("choice", "previewed", "confirm", "reason", "key", "skip_from", "skip_to")
    texts = {name: data.get(name, "").strip() for name in names}
    return Form(
        **texts,
        exclude=tuple(exclude),
        force=data.get("force") == "yes",
        supersede=data.get("supersede") == "yes",
    )


def first_form(scene: Scene, step: int | None, skip: tuple[int | None, int | None]) -> Form:
    """The form before anything was typed: the best candidate, suspects' hosts excluded.

    step, skip: as a link named them, such as that of the triage card."""
    listed = [c for c in scene.ranking.candidates if step is None or c.step == step]
    best = next(iter(listed or scene.ranking.candidates), None)
    suspects = scene.incident.suspects if scene.incident else ()
    nodes = dict.fromkeys(s.node for s in suspects if s.node and s.confidence >= 0.5)
    choice = f"{best.attempt}:{best.step}" if best and (best.eligible or step) else ""
    first, last = ("" if step is None else str(step) for step in skip)
    return Form(
        choice=choice,
        key=secrets.token_urlsafe(18),
        exclude=tuple(nodes),
        skip_from=first,
        skip_to=last,
    )


@dataclass(frozen=True, slots=True)
class Scene:
    """What the drawer offers."""

    run: RunInfo
    incident: IncidentInfo | None
    ranking: Ranking
    hosts: Sequence[str]
    active: OrderInfo | None
    newest_attempt: int | None


def scene(run: RunInfo, incident: IncidentInfo | None) -> Scene:
    """Candidates for the incident, or for the end of the newest attempt without one."""
    attempts = runs.attempts(run.id)
    newest = attempts[-1] if attempts else None
    ranking = choosing.ranking(run.id, incident)
    places = runs.placements(run.id, newest.number) if newest else {}
    suspected = {s.node for s in incident.suspects if s.node} if incident else set()
    hosts = sorted({place.node for place in places.values()} | suspected)
    return Scene(
        run, incident, ranking, hosts, store.active(run.id), newest.number if newest else None
    )


def waiting_incident(run: RunInfo) -> IncidentInfo | None:
    """The newest open page of the run."""
    found = board.waiting_of([run.id]).get(run.id, ())
    return next((incident for incident in found if incident.page), None)


def candidate_of(scene: Scene, form: Form) -> Candidate | None:
    """The chosen candidate."""
    chosen = form.chosen
    found = (c for c in scene.ranking.candidates if (c.attempt, c.step) == chosen)
    return next(found, None)


def preview(scene: Scene, form: Form, actor: Actor) -> str:
    """The document the launcher would get, without number, time and signature; "" if none."""
    chosen = form.chosen
    known = checkpoints.get(scene.run.id, *chosen) if chosen else None
    if known is None:
        return ""
    order = OrderInfo(
        id=0,
        run_id=scene.run.id,
        idempotency_key="",
        incident_id=scene.incident.id if scene.incident else None,
        kind="",
        onset_step=None,
        from_attempt=scene.newest_attempt or 0,
        attempt=known.attempt,
        step=known.step,
        path=known.path,
        inventory_digest=known.digest,
        branch_dir=branch_directory(known.path, name=f"rollback-{_NUMBER}"),
        exclude_nodes=form.exclude,
        skip_ranges=form.skip,
        forced=form.force,
        reason=form.reason or "<your note>",
        actor=actor.name,
        requested_at_ns=0,
        state=OrderState.REQUESTED,
        changed_at_ns=0,
        launch="",
        resumed_attempt=None,
        resumed_step=None,
        verdict=None,
    )
    payload = dict(resume.ordered(order).document["payload"])
    payload |= {"order": _NUMBER, "issued_at_ns": "<when you order>"}
    return as_text({"payload": payload, "signature": "<HMAC-SHA256 over the payload>"})


def as_text(document: Any) -> str:
    """JSON for people."""
    return orjson.dumps(document, option=orjson.OPT_INDENT_2).decode()


def asked(scene: Scene, form: Form, actor: Actor) -> RollbackRequest:
    """The request that the form means. The choice must be one."""
    attempt, step = form.chosen or (0, -1)
    return RollbackRequest(
        run_key=scene.run.key,
        step=step,
        attempt=attempt,
        confirm=form.confirm.replace(",", ""),
        reason=form.reason,
        idempotency_key=form.key,
        actor=actor,
        incident_id=scene.incident.id if scene.incident else None,
        force=form.force,
        supersede=form.supersede,
        exclude_nodes=form.exclude,
        skip_ranges=form.skip,
    )


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of an order. status: "done", "active", "failed" or "todo"."""

    name: str
    status: str
    event: OrderEventInfo | None = None


def stages(order: OrderInfo, events: Sequence[OrderEventInfo]) -> list[Stage]:
    """requested -> acknowledged -> resumed -> recovered, or where it ended instead."""
    reached = {event.after: event for event in reversed(events) if event.before != event.after}
    found = [Stage(name, "done", reached[name]) for name in STAGES if name in reached]
    if order.state.value in _ENDED:
        return [*found, Stage(order.state.value, "failed", reached.get(order.state.value))]
    ahead = [name for name in STAGES if name not in reached]
    if order.state is OrderState.RESUMED:
        ahead = ["recovered"]
    if order.state is OrderState.RECOVERED:
        ahead = []
    todo = [Stage(name, "todo") for name in ahead]
    if todo:
        todo[0] = replace(todo[0], status="active")
    return [*found, *todo]
