"""Cases for the triage card: an incident with its findings, its clues and its candidates."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from apps.core.records import Candidate, Evidence, Finding, Suspect
from apps.incidents.domain.card import Card, Given, card_of
from apps.incidents.domain.cause import hypotheses
from apps.incidents.domain.clues import Clues, Passage, RateSeen
from apps.incidents.domain.incident import EarliestSignal, IncidentInfo
from apps.incidents.domain.suspects import merge_suspects
from tests.incident_samples import at, explosion, incident

HEALTHY = Clues(
    first_step=0,
    newest_step=1259,
    step_s=0.5,
    gpus=8,
    rate=RateSeen(6e-4, 6e-4),
    nonfinite_rows=0,
    ranks_logged=True,
    layers_logged=True,
    hosts=("gpu-a01", "gpu-b02"),
)
"""A run of which everything is logged and nothing is odd, 258 steps behind an onset at 1,001."""

JUMP = RateSeen(6e-4, 2.4e-2, jump_step=1000)


def candidate(step: int, *, eligible: bool = True, lost_steps: int = 359) -> Candidate:
    """A checkpoint of attempt 0 with what going back to it costs."""
    reason = Evidence("headers verified")
    return Candidate(
        step, 0, f"ckpt/{step}", eligible, "committed", (reason,), lost_steps, 0.4, at(step), 1
    )


CANDIDATES = (candidate(900), candidate(750, lost_steps=509), candidate(1000, eligible=False))


def passage(**fields: Any) -> Passage:
    """A healthy pass of a later attempt over the onset."""
    values: dict[str, Any] = {
        "run_key": "r", "attempt": 1, "own": True, "step": 1001, "z": 0.4, "outlier": False,
        **fields,
    }  # fmt: skip
    return Passage(**values)


def signal(series: str = "update_ratio/layers.4", lead: int = 8, more: int = 3) -> EarliestSignal:
    """A statistic of layer 4 that moved before the loss."""
    return EarliestSignal(
        series, 1001 - lead, at(1001 - lead), "layer 4", lead_steps=lead, lead_s=lead, more=more
    )


def given(*findings: Finding, clues: Clues = HEALTHY, **fields: Any) -> Given:
    """The findings as one incident; `candidates`, `skipped` and fields of the incident by name."""
    found = findings or (explosion(),)
    parts = {name: fields.pop(name) for name in ("candidates", "skipped") if name in fields}
    suspects: tuple[Suspect, ...] = merge_suspects(found, {5: "gpu-b02"})
    onset = min((f.onset_step for f in found if f.onset_step is not None), default=None)
    about: dict[str, Any] = {
        "kind": found[0].kind,
        "onset_step": onset,
        "onset_time_ns": found[0].onset_time_ns if onset is None else at(onset),
        "suspects": suspects,
        "hypotheses": hypotheses(found, suspects, onset),
        **fields,
    }
    made: IncidentInfo = incident(**about)
    return Given(made, found, clues, **{"candidates": CANDIDATES, **parts})


def card(*findings: Finding, clues: Clues = HEALTHY, **fields: Any) -> Card:
    """The card of these findings."""
    return card_of(given(*findings, clues=clues, **fields))


def clues(**fields: Any) -> Clues:
    """HEALTHY, except for these fields."""
    return replace(HEALTHY, **fields)


def result_of(made: Card, cause: str) -> str:
    """How the tests of one cause came out."""
    return next(c.result for c in made.causes if c.cause == cause)


def seen_of(made: Card, cause: str) -> list[str]:
    """What the tests of one cause saw."""
    return [check.seen for c in made.causes if c.cause == cause for check in c.checks]
