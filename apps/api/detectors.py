"""The thresholds of the loss detector of a project, and what others would have done."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja import Field, Router, Schema

from apps.api.auth import caller, needs
from apps.api.names import named_project
from apps.core.clock import now_ns
from apps.ingest.thresholds import move
from apps.metrics import store as metrics
from apps.metrics.domain.thresholds import thresholds
from apps.metrics.domain.whatif import Change
from apps.metrics.replay import replay
from apps.metrics.store import MovedThresholds
from apps.runs import store as runs

router = Router(auth=needs("read"))


class ThresholdOut(Schema):
    slug: str
    group: str
    help: str
    unit: str
    default: float
    low: float
    high: float
    value: float
    source: str


class DetectorsOut(Schema):
    """values: what the project has moved. thresholds: all of them, with what counts."""

    project: str
    version: int
    changed_at_ns: int
    changed_by: str
    values: dict[str, float]
    thresholds: list[ThresholdOut]


class ValuesIn(Schema):
    """values: slug -> number; what is left out is at its default."""

    values: dict[str, float] = Field(default_factory=dict)


class DetectorsIn(ValuesIn):
    """Replaces everything that was moved. version: the one that was read (0: nothing yet); 409
    when it is no longer the newest. reason: goes into the audit trail."""

    version: int
    reason: str = ""


class EpisodeOut(Schema):
    """how: gained, lost or same. last_step: null where the episode has not ended."""

    how: str
    run: str
    attempt: int
    kind: str
    title: str
    onset_step: int
    seen_step: int
    last_step: int | None
    later_steps: int


class ReplayOut(Schema):
    """stopped: why only a part was judged, "" if all of it was."""

    since_ns: int
    attempts: int
    done: int
    rows: int
    cut: int
    stopped: str
    episodes: list[EpisodeOut]


def _shape(project: str) -> dict[str, Any]:
    moved = metrics.thresholds_of(project)
    every = thresholds().values()
    return {
        "project": project,
        "version": moved.version,
        "changed_at_ns": moved.changed_at_ns,
        "changed_by": moved.changed_by,
        "values": dict(moved.values),
        "thresholds": [
            {
                "slug": one.slug,
                "group": one.group,
                "help": one.help,
                "unit": one.unit,
                "default": one.default,
                "low": one.low,
                "high": one.high,
                "value": moved.values.get(one.slug, one.default),
                "source": one.source,
            }
            for one in every
        ],
    }


@router.get(
    "/projects/{path:project}/detectors",
    response=DetectorsOut,
    summary="The thresholds of the loss detector of a project",
    description='The project "-" is the runs without one.',
)
def get_detectors(request: HttpRequest, project: str) -> dict[str, Any]:
    return _shape(named_project(project))


@router.put(
    "/projects/{path:project}/detectors",
    response=DetectorsOut,
    auth=needs("admin"),
    summary="Move thresholds of a project",
)
def put_detectors(request: HttpRequest, project: str, payload: DetectorsIn) -> dict[str, Any]:
    asked = MovedThresholds(payload.values, payload.version)
    name = named_project(project)
    move(name, asked, actor=caller(request), reason=payload.reason, now_ns=now_ns())
    return _shape(name)


@router.post(
    "/projects/{path:project}/detectors/preview",
    response=ReplayOut,
    auth=needs("operate"),
    summary="What other thresholds would have paged in the last 7 days",
    description="Stored rows are judged again, in memory, by the present thresholds and by these; "
    "newest runs first, for about eight seconds at most.",
)
def preview_detectors(request: HttpRequest, project: str, payload: ValuesIn) -> dict[str, Any]:
    found = replay(named_project(project), payload.values, now_ns())
    keys = runs.keys({change.fired.run_id for change in found.changes})
    return {
        "since_ns": found.since_ns,
        "attempts": found.attempts,
        "done": found.done,
        "rows": found.rows,
        "cut": found.cut,
        "stopped": found.stopped,
        "episodes": [_episode(change, keys) for change in found.changes],
    }


def _episode(change: Change, keys: dict[int, str]) -> dict[str, Any]:
    fired = change.fired
    return {
        "how": change.how,
        "run": keys[fired.run_id],
        "attempt": fired.attempt,
        "kind": fired.kind,
        "title": fired.title,
        "onset_step": fired.onset_step,
        "seen_step": fired.seen_step,
        "last_step": fired.last_step,
        "later_steps": change.later_steps,
    }
