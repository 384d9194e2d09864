"""How far the clocks of hosts are apart."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.http import HttpRequest
from ninja import Router, Schema

from apps.api.auth import needs
from apps.api.lookup import Attempt, run_of
from apps.logs import store as logs
from apps.runs import store as runs

router = Router(auth=needs("read"))


class ClockOut(Schema):
    """skew_ns > 0: the host's clock is ahead of the job's median; null: fewer than 5 steps could be
    compared. uncertainty_ns: one standard error. apart: lines of this host and others may stand in
    the wrong order."""

    node: str
    skew_ns: int | None
    uncertainty_ns: int
    steps: int
    apart: bool


class ClocksOut(Schema):
    run: str
    attempt: int | None
    clocks: list[ClockOut]


@router.get(
    "/runs/{key}/clocks",
    response=ClocksOut,
    summary="How far the clock of each host is off, from the lines of the newest steps",
    description="attempt: the newest if it is left out. Times of lines are never corrected by it.",
)
def get_clocks(request: HttpRequest, key: str, attempt: Attempt | None = None) -> dict[str, Any]:
    run = run_of(key)
    found = runs.attempt(run.id, attempt)
    clocks = logs.clocks(run.id, found.number) if found else []
    return {
        "run": run.key,
        "attempt": found.number if found else None,
        "clocks": [{**asdict(clock), "apart": clock.apart} for clock in clocks],
    }
