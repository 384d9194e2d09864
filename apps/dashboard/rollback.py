"""The rollback drawer: candidates, options, and a preview of the exact order."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from apps.accounts.records import Actor
from apps.checkpoints import store as checkpoints
from apps.checkpoints.domain.optimizer import holds_optimizer
from apps.core.errors import AppError
from apps.core.records import Candidate
from apps.core.words import whole
from apps.dashboard import board
from apps.incidents.domain.incident import IncidentInfo
from apps.metrics import naming
from apps.metrics import store as metrics
from apps.rollbacks import choosing, policies, store, trying
from apps.rollbacks.asking import NUMBER
from apps.rollbacks.domain.ranking import Ranking
from apps.rollbacks.domain.state import OrderState
from apps.rollbacks.domain.together import Part, Saved, together
from apps.rollbacks.records import OrderEventInfo, OrderInfo, RollbackPolicy, RollbackRequest
from apps.rollbacks.trying import DryRun
from apps.runs import store as runs
from apps.runs.records import RunInfo

STAGES = ("proposed", "requested", "acknowledged", "resumed", "recovered")
_ENDED = {"failed", "superseded", "cancelled"}
SEEN_STEPS = 200
"""How far before a save the newest count of samples and tokens is looked for."""


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
    texts["choice"] = data.get("pick", "").strip() or texts["choice"]
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
    rules: RollbackPolicy

    @property
    def offered(self) -> dict[tuple[int, int], list[str]]:
        """(attempt, step) -> the names of the offers that name it."""
        found: dict[tuple[int, int], list[str]] = {}
        for offer in self.ranking.offers:
            if offer.step is not None and offer.attempt is not None:
                found.setdefault((offer.attempt, offer.step), []).append(offer.name)
        return found


def scene(run: RunInfo, incident: IncidentInfo | None) -> Scene:
    """Candidates for the incident, or for the end of the newest attempt without one."""
    attempts = runs.attempts(run.id)
    newest = attempts[-1] if attempts else None
    ranking = choosing.ranking(run.id, incident)
    places = runs.placements(run.id, newest.number) if newest else {}
    suspected = {s.node for s in incident.suspects if s.node} if incident else set()
    hosts = sorted({place.node for place in places.values()} | suspected)
    return Scene(
        run=run,
        incident=incident,
        ranking=ranking,
        hosts=hosts,
        active=store.active(run.id),
        newest_attempt=newest.number if newest else None,
        rules=policies.of_run(run.id),
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


def tried(scene: Scene, form: Form, actor: Actor, *, look: bool) -> DryRun | None:
    """What the order of the form would do; None without a choice or if it cannot be told.

    look: whether the storage is looked at, which takes seconds.
    """
    if form.chosen is None:
        return None
    try:
        return trying.dry_run(asked(scene, form, actor), look=look)
    except AppError:
        return None


def document_of(found: DryRun) -> str:
    """The document the launcher would get, without number, time and signature."""
    payload = found.payload | {"order": NUMBER, "issued_at_ns": "<when you order>"}
    return as_text({"payload": payload, "signature": "<HMAC-SHA256 over the payload>"})


def parts_of(scene: Scene, form: Form) -> tuple[Part, ...]:
    """What has to be restored with the chosen checkpoint; () without a choice."""
    known = checkpoints.get(scene.run.id, *form.chosen) if form.chosen else None
    if known is None:
        return ()
    files = tuple(known.files)
    content = checkpoints.metadata(scene.run.id, known.attempt, known.step)
    roles = naming.roles_of(scene.run.id)
    keys = [key for key in (roles.samples_seen, roles.tokens_seen) if key]
    seen = {
        key: float(value[-1])
        for key, (_, _, value) in metrics.read_rows(
            scene.run.id, known.attempt, keys, max(0, known.step - SEEN_STEPS), known.step
        ).items()
        if len(value)
    }
    saved = Saved(
        step=known.step,
        framework=known.framework,
        files=files,
        optimizer=holds_optimizer(files, known.framework, content),
        samples=seen.get(roles.samples_seen or ""),
        tokens=seen.get(roles.tokens_seen or ""),
    )
    return together(saved, form.skip)


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
    """requested -> acknowledged -> resumed -> recovered, or where it ended instead; before them
    proposed, if a second person had to agree."""
    reached = {event.after: event for event in reversed(events) if event.before != event.after}
    found = [Stage(name, "done", reached[name]) for name in STAGES if name in reached]
    if order.state.value in _ENDED:
        return [*found, Stage(order.state.value, "failed", reached.get(order.state.value))]
    ahead = [name for name in STAGES[1:] if name not in reached]
    if order.state is OrderState.RESUMED:
        ahead = ["recovered"]
    if order.state is OrderState.RECOVERED:
        ahead = []
    todo = [Stage(name, "todo") for name in ahead]
    if todo:
        todo[0] = replace(todo[0], status="active")
    return [*found, *todo]
