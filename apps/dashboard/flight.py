"""The words around the charts of one run: tiles, incident card, ranks, candidates, suspects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from apps.core import words
from apps.core.records import Severity
from apps.dashboard import board, series
from apps.incidents.domain.card import Card
from apps.incidents.domain.incident import IncidentInfo
from apps.ingest import services as ingest
from apps.ingest.wandb.gaps import MissingLines, missing_lines, total
from apps.logs import store as logs
from apps.metrics import store as metrics
from apps.rollbacks import cards
from apps.rollbacks import services as rollback_services
from apps.rollbacks import store as rollbacks
from apps.rollbacks.records import OrderInfo
from apps.runs import stops
from apps.runs import store as runs
from apps.runs.domain.contact_report import ranks_silent
from apps.runs.domain.topology import first_missing
from apps.runs.records import AttemptInfo, PlacementInfo, RunInfo
from apps.runs.stop_store import StopInfo

SILENT_S = 30.0
GAPS = 4.0
"""A rank is silent for longer than both: so many seconds, and so many usual gaps of its run."""
MANY_RANKS = 128
MAX_CELLS = 20_000
"""Cells that are drawn; what a sender claims beyond is counted. The largest known jobs fit."""
SHOWN_CANDIDATES = 3


@dataclass(frozen=True, slots=True)
class Cell:
    """One rank of the matrix. tone: "", "warn" or "error"; absent: never heard of."""

    rank: int
    tone: str
    silent: bool
    absent: bool
    suspect: bool
    text: str


@dataclass(frozen=True, slots=True)
class Host:
    """Ranks on one node."""

    name: str
    cells: Sequence[Cell]


def _packed(host: Host) -> tuple[str, int | list[int], str]:
    ranks = [cell.rank for cell in host.cells]
    row = ranks == list(range(ranks[0], ranks[0] + len(ranks)))
    return host.name, ranks[0] if row else ranks, "".join(map(_letter, host.cells))


_LETTERS = {
    ("", False): ".", ("warn", False): "w", ("error", False): "e",
    ("", True): "s", ("warn", True): "q", ("error", True): "d",
}  # fmt: skip
"""(tone, whether it is silent) -> the letter of a rank."""


def _letter(cell: Cell) -> str:
    """What is shown of a rank. A suspect has a capital letter."""
    shown = "x" if cell.absent else _LETTERS[cell.tone, cell.silent]
    return (shown if shown != "." else "o").upper() if cell.suspect else shown


@dataclass(frozen=True, slots=True)
class Matrix:
    """All ranks of an attempt by host; missing ranks are drawn too. undrawn: those beyond
    MAX_CELLS, counted only. silent_words: which ranks of a run that talks are silent."""

    hosts: Sequence[Host] = ()
    undrawn: int = 0
    errors: int = 0
    warnings: int = 0
    silent: int = 0
    absent: int = 0
    total: int = 0
    silent_words: str = ""

    @property
    def many(self) -> bool:
        """Whether cells must be small."""
        return self.total > MANY_RANKS

    @property
    def packed(self) -> str:
        """JSON of static/js/deck_ranks.js: [host, first rank or all ranks, a letter a rank]."""
        return orjson.dumps([_packed(host) for host in self.hosts]).decode()


@dataclass(frozen=True, slots=True)
class Flight:
    """What the page says beside the charts. outcome: the order the newest attempt followed. stop:
    the newest request to stop that attempt. stoppable: somebody would hear one.
    """

    run: RunInfo
    attempts: Sequence[AttemptInfo]
    loss_key: str | None
    latest: dict[str, tuple[int, int, float]]
    step_time_s: float | None
    tokens_per_s: float | None
    incident: IncidentInfo | None
    good: Any
    ingest: ingest.IngestStatus
    order: OrderInfo | None = None
    outcome: OrderInfo | None = None
    missing: Sequence[MissingLines] = ()
    stop: StopInfo | None = None
    stoppable: bool = False
    matrix: Matrix = field(default_factory=Matrix)
    candidates: Sequence[Any] = ()
    card: Card | None = None

    @property
    def newest(self) -> AttemptInfo | None:
        """The newest attempt."""
        return self.attempts[-1] if self.attempts else None

    @property
    def missing_total(self) -> int:
        """How many lines were answered and never came."""
        return total(self.missing)

    @property
    def speaking(self) -> int:
        """How many ranks were heard of in the newest attempt."""
        return self.matrix.total - self.matrix.absent

    @property
    def loss(self) -> float | None:
        """The newest loss."""
        found = self.latest.get(self.loss_key or "")
        return found[2] if found else None


def flight(run: RunInfo, now_ns: int) -> Flight:
    """Everything beside the charts of this run."""
    attempts = runs.attempts(run.id)
    newest = attempts[-1].number if attempts else None
    shown = series.shown(run.id)
    keys = [key for key in (shown.loss, shown.step_time, shown.tokens_per_s) if key]
    latest = metrics.latest(run.id, newest, keys) if newest is not None and keys else {}
    incident = next(iter(board.waiting_of([run.id]).get(run.id, ())), None)
    orders = rollbacks.orders(run.id)
    active = [order for order in orders if order.active]
    ended = [o for o in orders if o.verdict and o.resumed_attempt == newest]
    ranked = rollback_services.candidates(run.id, incident) if incident else []
    return Flight(
        run=run,
        attempts=attempts,
        loss_key=shown.loss,
        latest=latest,
        step_time_s=latest[shown.step_time][2] if shown.step_time in latest else None,
        tokens_per_s=latest[shown.tokens_per_s][2] if shown.tokens_per_s in latest else None,
        incident=incident,
        good=board.last_good(run.id, incident),
        ingest=ingest.status(run.id),
        order=active[-1] if active else None,
        outcome=ended[-1] if ended else None,
        missing=missing_lines(run.id, run.key),
        stop=stops.newest(run.id, newest),
        stoppable=stops.stoppable(run.id),
        matrix=matrix(run, newest, incident, now_ns),
        candidates=ranked[:SHOWN_CANDIDATES],
        card=cards.card(incident, candidates=ranked) if incident else None,
    )


def matrix(run: RunInfo, attempt: int | None, incident: IncidentInfo | None, now_ns: int) -> Matrix:
    """Ranks of an attempt by host, with the worst severity they logged."""
    if attempt is None:
        return Matrix()
    seen = {a.rank: a for a in logs.rank_activity(run.id, attempt) if a.rank is not None}
    places = runs.placements(run.id, attempt)
    size = max([run.world_size or 0, *(r + 1 for r in seen), *(r + 1 for r in places)])
    if not seen and not places:
        return Matrix()
    accused = incident.suspects if incident and incident.attempt == attempt else ()
    suspects = {suspect.rank for suspect in accused}
    newest = max((a.last_ns for a in seen.values() if a.last_ns), default=0)
    # Ranks of a run that logs once a minute are not silent for half a minute.
    patience_s = max(0.0, GAPS * (run.usual_gap_s or 0.0) - SILENT_S)
    reference = now_ns - int(patience_s * 1e9) if run.state == "running" else newest
    known = sorted({*seen, *places})
    drawn = [*known[:MAX_CELLS], *first_missing(size, {*known}, MAX_CELLS - len(known))]
    cells = {r: _cell(r, seen.get(r), places.get(r), reference, r in suspects) for r in known}
    cells |= {r: _cell(r, None, None, reference, r in suspects) for r in drawn if r not in cells}
    by_host: dict[str, list[Cell]] = {}
    for rank in sorted(drawn):
        place, activity = places.get(rank), seen.get(rank)
        name = place.node if place else (activity.node if activity else None)
        by_host.setdefault(name or "unknown host", []).append(cells[rank])
    shown = cells.values()
    return Matrix(
        hosts=[Host(name, tuple(group)) for name, group in sorted(by_host.items())],
        undrawn=size - len(drawn),
        errors=sum(c.tone == "error" for c in shown),
        warnings=sum(c.tone == "warn" for c in shown),
        silent=sum(c.silent for c in shown),
        absent=size - sum(not c.absent for c in shown),
        total=size,
        silent_words=_silent_words(run, list(shown), places),
    )


def _silent_words(run: RunInfo, cells: Sequence[Cell], places: dict[int, PlacementInfo]) -> str:
    """Which ranks say nothing while the run talks."""
    if run.state != "running":
        return ""
    quiet = [cell.rank for cell in cells if cell.silent]
    nodes = {rank: found.node for rank, found in places.items()}
    names = [words.place(rank, nodes.get(rank)) for rank in quiet]
    return ranks_silent(names, sum(not cell.absent for cell in cells))


def _cell(
    rank: int, activity: Any, place: PlacementInfo | None, reference_ns: int, suspect: bool
) -> Cell:
    worst = (activity.worst_severity or 0) if activity else 0
    tone = "error" if worst >= Severity.ERROR else "warn" if worst >= Severity.WARNING else ""
    age_s = (reference_ns - activity.last_ns) / 1e9 if activity and activity.last_ns else None
    silent = age_s is not None and age_s > SILENT_S
    parts = [f"rank {rank}", place.node if place else ""]
    absent = activity is None or activity.last_ns is None
    if absent:
        parts.append("never heard of")
    else:
        parts.append(Severity(worst).name.lower() if worst else "no lines")
        parts.append(f"last step {activity.last_step}" if activity.last_step is not None else "")
        parts.append(f"silent for {age_s:.0f} s" if silent and age_s is not None else "")
    if suspect:
        parts.append("suspect")
    text = ", ".join(part for part in parts if part)
    return Cell(rank, tone, silent, absent, suspect, text)
