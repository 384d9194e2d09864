"""From an id in a request to the object: the only way in."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from apps.api.errors import Missing
from apps.incidents import store as incidents
from apps.incidents.domain.incident import IncidentInfo
from apps.runs import store as runs
from apps.runs.records import RunInfo

MAX_LIMIT = 200
Attempt = Annotated[int, Field(ge=0, lt=2**31)]
Rank = Annotated[int, Field(ge=0, lt=2**31)]


def run_of(key: str) -> RunInfo:
    """The run called `key`; Missing if there is none."""
    found = runs.get_run(key)
    if found is None:
        raise Missing("no such run", where="key", hint="GET /api/v1/runs lists the runs")
    return found


def incident_of(incident_id: int) -> IncidentInfo:
    """The incident; Missing if there is none."""
    found = incidents.get(incident_id)
    if found is None:
        raise Missing("no such incident", where="id", hint="GET /api/v1/incidents lists them")
    return found


def capped(limit: int) -> int:
    """A page size between 1 and MAX_LIMIT."""
    return max(1, min(limit, MAX_LIMIT))
