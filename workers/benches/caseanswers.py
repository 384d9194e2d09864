"""The answer to one job whose files lie in a folder: by its lines, else by the numbers in them.

What the product does with both: the verdict on the lines and the findings of the rank detectors are
findings of one incident, and its first suspect is the answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from apps.core.records import Finding, MetricRow
from apps.incidents.domain.summary import summarise
from apps.logs.domain.triage.classify import Taxonomy
from apps.logs.domain.triage.first_failure import first_failure
from apps.logs.domain.triage.report import confidence_word, finding_of
from apps.logs.domain.triage.verdict import Verdict
from apps.metrics.domain import rank_outlier, straggling
from apps.metrics.domain.rank_outlier import RankPolicy, RankState
from apps.metrics.domain.rank_signals import judged
from apps.metrics.domain.rank_state import RankCase
from apps.metrics.domain.roles import local_losses
from apps.metrics.domain.straggling import SignalStates
from apps.metrics.records import Points
from workers.benches.casefiles import CaseLines


@dataclass(frozen=True, slots=True)
class Answer:
    """What is said of one job. rank: several if they stopped or failed together. confidence: high,
    medium, low or none."""

    rank: int | tuple[int, ...] | None
    host: str | None
    fault_class: str | None
    confidence: str

    def as_json(self) -> dict[str, Any]:
        """The answer as it is written."""
        return {
            "rank": self.rank,
            "host": self.host,
            "fault_class": self.fault_class,
            "confidence": self.confidence,
        }


def answered(lines: CaseLines, faults: Taxonomy) -> Answer:
    """The answer to a job."""
    verdict = first_failure(lines.facts(faults), faults)
    if verdict is not None and (verdict.not_derivable or verdict.together):
        return _said(verdict)
    places = {s.rank: s.node for s in lines.states.values() if s.rank is not None}
    found = [*apart(lines.metrics, len(places))]
    if verdict is not None:
        found.append(finding_of(verdict, attempt=0, settled=True))
    if not found:
        return Answer(None, None, None, "none")
    first = next(iter(summarise(found, places).suspects), None)
    if first is None:
        return Answer(None, None, None, "none")
    return Answer(
        first.rank, first.node or None, first.fault_class, confidence_word(first.confidence)
    )


def _said(verdict: Verdict) -> Answer:
    first = next(iter(verdict.suspects), None)
    host = first.node if first is not None else None
    rank = verdict.together or (first.rank if first is not None else None)
    if verdict.not_derivable:
        return Answer(rank, host, verdict.fault.id, "none")
    return Answer(rank, host, verdict.fault.id, confidence_word(verdict.confidence))


def apart(rows: Sequence[MetricRow], ranks: int) -> Iterator[Finding]:
    """What the detectors of ranks say of the numbers in these rows: losses, and slow ranks."""
    told = sorted((r for r in rows if r.rank is not None), key=lambda r: (r.step, r.rank or 0))
    keys = sorted({key for row in told for key in row.values})
    losses = list(local_losses(keys))
    for series in losses[:1]:
        state, case = RankState(series=series), RankCase(0, series, ranks)
        yield from rank_outlier.judge(state, _points(told, series), case, RankPolicy())
    signals = judged(key for key in keys if key not in losses)
    logged = [(signal, _points(told, signal.series)) for signal in signals]
    yield from straggling.judge(SignalStates(), logged, 0, ranks)


def _points(rows: Sequence[MetricRow], series: str) -> Points:
    told = [row for row in rows if series in row.values]
    return Points(
        np.array([row.step for row in told], dtype=np.int64),
        np.array([row.time_ns for row in told], dtype=np.int64),
        np.array([row.values[series] for row in told], dtype=np.float64),
        np.array([row.rank for row in told], dtype=np.int32),
    )
