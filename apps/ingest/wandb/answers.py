"""Runs and projects in the form in which `wandb.Api` reads them. Pure."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from apps.ingest.wandb.graphql import DEFAULT_PROJECT
from apps.ingest.wandb.sessions import ENTITY
from apps.runs.records import RunInfo

LABEL: Final = "wandb/"
"""What the client says of a run beside its configuration is kept there under such names."""
_STATES: Final = {"waiting": "pending", "no_contact": "crashed", "stopped": "failed"}
_NAMED: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


@dataclass(frozen=True, slots=True)
class Depth:
    """What is told of a run beyond the light part, which a listing asks for."""

    summary: Mapping[str, Any]
    system: Mapping[str, Any]
    keys: Mapping[str, Any]


def project_of(run: RunInfo) -> str:
    """The project a run is found under."""
    return run.project or DEFAULT_PROJECT


def project_id(name: str) -> int:
    """A number that is always the same for a project; the client wants one."""
    return zlib.crc32(name.encode())


def facts(run: RunInfo, summary: Mapping[str, Any]) -> dict[str, Any]:
    """What runs can be filtered and sorted by; see runquery."""
    labels = {
        name.removeprefix(LABEL): value
        for name, value in run.config.items()
        if name.startswith(LABEL)
    }
    return {
        **labels,
        "name": run.key,
        "display_name": labels.get("name") or run.key,
        "state": state(run),
        "created_at": stamp(run.created_at),
        "heartbeat_at": stamp(run.last_contact_at),
        "tags": labels.get("tags") or [],
        "config": run.config,
        "summary_metrics": summary,
        "username": ENTITY,
    }


def state(run: RunInfo) -> str:
    """The word of W&B for the state of a run."""
    return _STATES.get(run.state, run.state)


def light(run: RunInfo, lines: int) -> dict[str, Any]:
    """A run as listings show it. lines: of history."""
    said = facts(run, {})
    return {
        "id": run.key,
        "projectId": project_id(project_of(run)),
        "tags": said["tags"],
        "name": run.key,
        "displayName": said["display_name"],
        "sweepName": None,
        "state": said["state"],
        "group": said.get("group"),
        "jobType": said.get("job_type"),
        "commit": said.get("commit"),
        "readOnly": False,
        "createdAt": said["created_at"],
        "heartbeatAt": said["heartbeat_at"] or said["created_at"],
        "description": None,
        "notes": said.get("notes"),
        "historyLineCount": lines,
        "user": {"name": ENTITY, "username": ENTITY},
    }


def deep(run: RunInfo, depth: Depth) -> dict[str, Any]:
    """The rest of a run: configuration, summary, newest system metrics, names of its metrics."""
    config = {
        key: {"desc": None, "value": value}
        for key, value in run.config.items()
        if not key.startswith(LABEL)
    }
    return {
        "config": loose(config),
        "summaryMetrics": loose(depth.summary),
        "systemMetrics": loose(depth.system),
        "historyKeys": depth.keys,
    }


def loose(value: Any) -> str:
    """JSON in which numbers that are not finite, kept by name, are bare again."""
    return json.dumps(_unnamed(value))


def _unnamed(value: Any) -> Any:
    if isinstance(value, str):
        return _NAMED.get(value, value)
    if isinstance(value, Mapping):
        return {key: _unnamed(inner) for key, inner in value.items()}
    if isinstance(value, Sequence):
        return [_unnamed(inner) for inner in value]
    return value


def history_keys(numbers: Sequence[str], others: Collection[str], last_step: int) -> dict[str, Any]:
    """The names of a run's numbers and of the rest it logged, and the newest step of its history;
    -1: there is none."""
    # A histogram's figures are numbers too, but it was not they that were logged.
    logged = (name for name in numbers if name.rpartition("/")[0] not in others)
    keys = {name: {"typeCounts": [{"type": "number"}], "monotonic": False} for name in logged}
    for name in others:
        keys.setdefault(name, {"typeCounts": [], "monotonic": False})
    return {"keys": keys, "lastStep": last_step, "sets": []}


def project(name: str, made_at: datetime) -> dict[str, Any]:
    """A project."""
    return {
        "__typename": "Project",
        "id": str(project_id(name)),
        "internalId": project_id(name),
        "name": name,
        "entityName": ENTITY,
        "createdAt": stamp(made_at),
        "isBenchmark": False,
        "readOnly": False,
        "user": None,
    }


def page(nodes: Sequence[tuple[str, Mapping[str, Any]]], *, more: bool) -> dict[str, Any]:
    """A page of (cursor, node). The cursor of its last node asks for the next one."""
    return {
        "edges": [{"cursor": cursor, "node": node} for cursor, node in nodes],
        "pageInfo": {
            "__typename": "PageInfo",
            "endCursor": nodes[-1][0] if nodes else None,
            "hasNextPage": more,
        },
    }


def stamp(at: datetime | None) -> str | None:
    """A time as W&B writes it, UTC."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if at else None
