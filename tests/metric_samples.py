"""Rows, points and recorded runs for the tests of apps/metrics."""

from __future__ import annotations

from functools import cache

import numpy as np

from apps.core.records import MetricRow
from apps.ingest.wandb.parse import decode, read_records
from apps.logs.domain.reading.parsing import parse_segment
from apps.logs.domain.reading.segments import SegmentMeta
from apps.metrics.domain import rank_outlier
from apps.metrics.domain.rank_outlier import RankPolicy, RankState
from apps.metrics.domain.rank_signals import signal_of
from apps.metrics.domain.rank_state import RankCase
from apps.metrics.domain.spikes import SpikeDetector
from apps.metrics.domain.train_row import TrainRow
from apps.metrics.records import Points
from tests.servers import HOME
from workers.demo import recordings

T0_NS = 1_795_981_200_000_000_000
S = 1_000_000_000
NAMES = {"loss": "train/loss", "grad_norm": "train/grad_norm", "lr": "train/lr"}


@cache
def recorded_rows(name, start=0):
    """History rows of one start of a recorded run."""
    folder = recordings.unpack(name, HOME / "recordings")
    path = sorted(folder.glob("wandb/*/run-*.wandb"))[start]
    return decode(read_records(path.read_bytes(), final=True).records, now_ns=0).rows


@cache
def recorded_rank_rows(name):
    """Per-rank rows of the first start of a recorded run, from its log files."""
    folder = recordings.unpack(name, HOME / "recordings")
    files = sorted(folder.glob("gpu-*/*/attempt_0/*/stderr.log"))
    rows = []
    for path in (path for path in files if not path.parts[-5].endswith("-2")):
        node, local_rank = path.parts[-5], int(path.parts[-2])
        meta = SegmentMeta(
            source=str(path), channel="stderr", local_rank=local_rank, node=node, offset=0,
            seen_ns=T0_NS,
        )  # fmt: skip
        rows += parse_segment(meta, path.read_bytes()).metrics
    return tuple(rows)


def train_rows(rows):
    """Metric rows as the loss detector reads them."""
    values = [[row.values.get(name) for name in NAMES.values()] for row in rows]
    return [TrainRow(row.step, row.time_ns, *v) for row, v in zip(rows, values, strict=True)]


def curve_rows(curve, first_step=0):
    """A made-up curve as rows, a second apart."""
    columns = zip(curve.loss.tolist(), curve.grad_norm.tolist(), curve.lr.tolist(), strict=True)
    return [TrainRow(first_step + at, T0_NS + at * S, *values) for at, values in enumerate(columns)]


def findings(rows, attempt=0):
    """All findings of a detector that sees the rows at once, key -> newest state."""
    detector = SpikeDetector()
    detector.start_attempt(attempt, dict(NAMES))
    return {finding.key: finding for finding in detector.feed(rows)}


def pages(rows, attempt=0):
    """The paging ones of `findings`, in order of their onsets."""
    return [finding for finding in findings(rows, attempt).values() if finding.page]


def rows_of(values, *, key="train/loss", first_step=0, rank=None):
    """One row a value."""
    return [
        MetricRow(first_step + at, T0_NS + at * S, {key: value}, rank)
        for at, value in enumerate(values)
    ]


def points_of_ranks(table, *, first_step=0, every=10):
    """Points from a table: one line a logged step, one value a rank."""
    table = np.asarray(table, dtype=np.float64)
    steps, ranks = table.shape
    step = np.repeat(first_step + every * np.arange(steps), ranks)
    return Points(
        step.astype(np.int64),
        T0_NS + step.astype(np.int64) * S,
        table.reshape(-1),
        np.tile(np.arange(ranks, dtype=np.int32), steps),
    )


def rank_table(steps=20, ranks=8, seed=0, changes=None):
    """Losses of healthy ranks, a row a step; changes: (row, rank) -> value."""
    values = 2.0 * (1 + 0.1 * np.random.default_rng(seed).standard_normal((steps, ranks)))
    values[tuple(np.array(list(changes or {}), dtype=int).reshape(-1, 2).T)] = list(
        (changes or {}).values()
    )
    return values


def of_ranks(points, ranks):
    """The points of some ranks only."""
    chosen = np.isin(points.rank, list(ranks))
    return Points(
        points.step[chosen], points.time_ns[chosen], points.value[chosen], points.rank[chosen]
    )


def judged_ranks(values, *, state=None, known_ranks=0, **place):
    """Findings of the rank detector on a table or on points."""
    points = values if isinstance(values, Points) else points_of_ranks(values, **place)
    case = RankCase(0, "rank/local_loss", known_ranks)
    return rank_outlier.judge(state or RankState(), points, case, RankPolicy())


def local_losses(name):
    """Local losses of a recorded run as points, all ranks, by step."""
    return points_of_series(name, "rank/local_loss")


def recorded_points(name, *series):
    """(signal, points) of per-rank series of a recorded run."""
    return [(signal_of(one), points_of_series(name, one)) for one in series]


def points_of_series(name, series):
    """One per-rank series of a recorded run as points, all ranks, by step."""
    rows = [row for row in recorded_rank_rows(name) if series in row.values]
    rows.sort(key=lambda row: (row.step, row.rank))
    return Points(
        np.array([row.step for row in rows], dtype=np.int64),
        np.array([row.time_ns for row in rows], dtype=np.int64),
        np.array([row.values[series] for row in rows]),
        np.array([row.rank for row in rows], dtype=np.int32),
    )
