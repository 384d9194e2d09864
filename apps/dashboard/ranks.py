"""Ranks beside each other: which one is slow or apart, by how much, and what that costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from apps.core.records import Finding
from apps.incidents import store as incidents
from apps.incidents.domain.correlate import closed
from apps.metrics import ranksignals
from apps.metrics.domain.rank_signals import Meaning
from apps.metrics.domain.rank_table import RankDeviation, SeriesTable
from apps.runs import store as runs
from apps.runs.records import RunInfo

WORDS = {
    Meaning.LOSS: "loss of each rank",
    Meaning.SIGNAL: "should agree between ranks",
    Meaning.DATA: "time to get the data, s",
    Meaning.COMPUTE: "time to compute, s",
    Meaning.COMMUNICATION: "time in communication, s: who waits least is waited for",
    Meaning.TOTAL: "whole step, s: includes waiting, so it names nobody",
}
KINDS = ("straggler", "rank_outlier", "silent_rank")


@dataclass(frozen=True, slots=True)
class Row:
    """A rank with its host."""

    one: RankDeviation
    node: str


@dataclass(frozen=True, slots=True)
class Shown:
    """A series with its words."""

    table: SeriesTable
    words: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Told:
    """A finding about a rank. gpu_hours: lost by waiting, None for what costs none."""

    finding: Finding
    over: bool
    node: str
    gpu_hours: float | None


def shown(run: RunInfo, attempt: int) -> tuple[list[Shown], list[Told], str]:
    """(series, findings, what follows by exclusion or "")."""
    nodes = {rank: place.node or "" for rank, place in runs.placements(run.id, attempt).items()}
    series = [
        Shown(
            table,
            WORDS.get(table.signal.meaning, ""),
            tuple(Row(one, nodes.get(one.rank, "")) for one in table.rows),
        )
        for table in ranksignals.tables(run.id, attempt)
    ]
    found = [f for kind in KINDS for f in incidents.findings_of_kind(run.id, kind)]
    told = [_told(f, nodes) for f in found if f.attempt == attempt and f.severity != "info"]
    told.sort(key=lambda one: (one.over, -one.finding.onset_time_ns))
    return series, told, _excluded(run, attempt, series, told)


def _told(finding: Finding, nodes: dict[int, str]) -> Told:
    lost = finding.facts.get("lost_gpu_hours")
    node = finding.node or (nodes.get(finding.rank, "") if finding.rank is not None else "")
    hours = float(lost) if isinstance(lost, (int, float)) else None
    return Told(finding, closed(finding), node, hours)


def _excluded(run: RunInfo, attempt: int, series: Sequence[Shown], told: Sequence[Told]) -> str:
    """Where the time of a slow job must be, if no rank's own times stand apart."""
    drops = incidents.findings_of_kind(run.id, "throughput_drop")
    slow = [f for f in drops if f.attempt == attempt and not closed(f)]
    named = any(one.finding.kind == "straggler" and not one.over for one in told)
    own = {one.table.signal.meaning for one in series} & {Meaning.DATA, Meaning.COMPUTE}
    if not slow or named or not own:
        return ""
    return (
        "The job is slower, and no rank's own times stand apart: what slows it lies between the "
        "ranks (communication), or slows all of them alike. A link test tells which."
    )
