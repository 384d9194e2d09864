"""Reading series. Costs: blocks outside the steps are not fetched, other columns not decoded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from apps.core import sql
from apps.metrics.domain import assembly, downsample, layers, matrix, tiers
from apps.metrics.domain.bank import Rows
from apps.metrics.domain.blocks import Floats, Ints
from apps.metrics.domain.tiers import LEVELS, Buckets
from apps.metrics.records import CellGrid, CellQuery, Points, SeriesQuery, SeriesWindow
from apps.metrics.store import names
from apps.metrics.store.fetch import Fetched, Plan, fetch

RAW_POINTS = 1 << 14


@dataclass(frozen=True, slots=True)
class _Loaded:
    """One series: all its buckets, and the list of its non-finite values."""

    key_id: int
    attempt: int
    rank: int | None
    buckets: Buckets
    nonfinite: list[tuple[int, str]]


def read_series(query: SeriesQuery) -> list[SeriesWindow]:
    """The series, by key, attempt and rank, each in at most `points` buckets.

    A per-rank series gives one window a rank. Short ranges are read point by point, long ones from
    tiers plus the newest points: about 50 ms for a series of a million points.
    """
    known = names.ids(query.run_id, query.keys)
    plan = Plan(query.run_id, list(known), query.attempt, query.from_step, query.to_step)
    windows = [
        _window(known[loaded.key_id], loaded, query.points)
        for loaded in _load(plan, query.points)
        if query.rank is None or loaded.rank == query.rank
    ]
    return sorted(windows, key=lambda w: (w.key, w.attempt, -1 if w.rank is None else w.rank))


def read_rows(
    run_id: int,
    attempt: int,
    keys: Sequence[str],
    from_step: int | None = None,
    to_step: int | None = None,
) -> dict[str, tuple[Ints, Ints, Floats]]:
    """name -> (step, time_ns, value) of the job's series at full resolution, by step.

    Both ends included. A step that was logged twice is there twice, the later arrival last. Names
    without a point in the range are left out. About 10 million points a second.
    """
    known = names.ids(run_id, keys, ranked=False)
    found = _points(fetch(Plan(run_id, list(known), attempt, from_step, to_step)), list(known),
                    (from_step, to_step))  # fmt: skip
    return {known[key]: (p.step, p.time_ns, p.value) for (key, _), p in found.items()}


def read_matrix(
    run_id: int, attempt: int, key_ids: Sequence[int], from_step: int, to_step: int | None
) -> Rows | None:
    """Series of the job as one matrix, a row a step, columns as in `key_ids`; None without a row.

    Both ends included. For many series at once: about a tenth of the time of `read_rows`.
    """
    stored = fetch(Plan(run_id, key_ids, attempt, from_step, to_step))
    return matrix.assemble([*stored.hot, *stored.cold], key_ids, (from_step, to_step))


def step_windows(
    run_id: int, attempt: int, steps: tuple[int, int | None], rows: int
) -> list[tuple[int, int | None]]:
    """The steps (both ends included) in windows that hold about `rows` stored rows at most, or one
    block. Nothing is decoded. -- uses the primary keys of hot and cold blocks
    """
    first, last = steps
    high = 1 << 62 if last is None else last
    statement = """
        SELECT last_step, max(rows) FROM (
            SELECT last_step, rows FROM metrics_hotblock
             WHERE run_id = %s AND attempt = %s AND last_step >= %s AND first_step <= %s
            UNION ALL
            SELECT c.last_step, c.points FROM metrics_serieskey k JOIN metrics_coldblock c
                ON c.run_id = k.run_id AND c.key_id = k.key_id AND c.attempt = %s
               AND c.last_step >= %s AND c.first_step <= %s WHERE k.run_id = %s) AS blocks
         GROUP BY last_step ORDER BY last_step
    """
    place = [attempt, first, high]
    found: list[tuple[int, int | None]] = []
    low, held, before = first, 0, first
    for end, count in sql.query(statement, [run_id, *place, *place, run_id]):
        if held and held + count > rows:
            found.append((low, before))
            low, held = before + 1, 0
        held, before = held + count, end
    return [*found, (low, last)]


def count_points(run_id: int, attempt: int, from_step: int | None, to_step: int | None) -> int:
    """At most how many points lie in the steps, both included: whole blocks are counted.

    Nothing is decoded. -- uses the primary keys of hot and cold blocks
    """
    low = -(1 << 62) if from_step is None else from_step
    high = 1 << 62 if to_step is None else to_step
    statement = """
        SELECT (SELECT coalesce(sum(points), 0) FROM metrics_hotblock WHERE run_id = %s
                   AND attempt = %s AND last_step >= %s AND first_step <= %s)
             + (SELECT coalesce(sum(c.points), 0) FROM metrics_serieskey k
                  JOIN metrics_coldblock c ON c.run_id = k.run_id AND c.key_id = k.key_id
                   AND c.attempt = %s AND c.last_step >= %s AND c.first_step <= %s
                 WHERE k.run_id = %s)
    """
    place = [attempt, low, high]
    return int(sql.query(statement, [run_id, *place, *place, run_id])[0][0])


def read_rank_rows(
    run_id: int, attempt: int, key: str, from_step: int | None = None, to_step: int | None = None
) -> Points | None:
    """All ranks of one per-rank series at full resolution, by step; None if there is no point."""
    return read_rank_series(run_id, attempt, [key], (from_step, to_step)).get(key)


def read_rank_series(
    run_id: int, attempt: int, keys: Sequence[str], steps: tuple[int | None, int | None]
) -> dict[str, Points]:
    """name -> all ranks of a per-rank series at full resolution, by step, both ends included.

    Names without a point are left out. Three statements, whatever the number of series.
    """
    known = names.ids(run_id, keys, ranked=True)
    found = _points(fetch(Plan(run_id, list(known), attempt, *steps)), list(known), steps)
    return {known[key]: points for (key, _), points in found.items()}


def latest(run_id: int, attempt: int, keys: Sequence[str]) -> dict[str, tuple[int, int, float]]:
    """name -> (step, time_ns, value) of the newest point of the job's series; may be NaN.

    Decodes one or two blocks a series, shared ones once. -- uses the primary keys, backwards
    """
    known = names.ids(run_id, keys, ranked=False)
    starts: dict[int, list[str]] = defaultdict(list)
    for key_id, start in _newest_starts(run_id, attempt, list(known)).items():
        starts[start].append(known[key_id])
    return {
        name: (int(step[-1]), int(time_ns[-1]), float(value[-1]))
        for start, group in starts.items()
        for name, (step, time_ns, value) in read_rows(run_id, attempt, group, start).items()
    }


def _newest_starts(run_id: int, attempt: int, key_ids: list[int]) -> dict[int, int]:
    """key_id -> a step at or after which its newest point lies, from the newest blocks."""
    columns = names.keysets(run_id, key_ids)
    statement = """
        SELECT 'hot', k.id, h.first_step FROM unnest(%s::bigint[]) AS k (id), LATERAL (
            SELECT first_step FROM metrics_hotblock
             WHERE run_id = %s AND attempt = %s AND keyset_id = k.id
             ORDER BY last_step DESC, block_id DESC LIMIT 1) h
        UNION ALL
        SELECT 'cold', k.id, c.first_step FROM unnest(%s::bigint[]) AS k (id), LATERAL (
            SELECT first_step FROM metrics_coldblock
             WHERE run_id = %s AND key_id = k.id AND attempt = %s
             ORDER BY last_step DESC, block_id DESC LIMIT 1) c
    """
    params = [list(columns), run_id, attempt, key_ids, run_id, attempt]
    starts: dict[int, int] = {}
    wanted = set(key_ids)
    for kind, ref, start in sql.query(statement, params):
        for key_id in wanted.intersection(columns[ref] if kind == "hot" else [ref]):
            starts[key_id] = max(start, starts.get(key_id, start))
    return starts


def read_cells(query: CellQuery) -> CellGrid:
    """The job's series in one grid of aligned step buckets. About 0.2 ms a series.

    A grid as coarse as tiers are is read from these alone, and the newest points.
    """
    known = names.ids(query.run_id, query.keys, ranked=False)
    plan = Plan(
        query.run_id, list(known), query.attempt, query.from_step, query.to_step, places=False
    )
    loaded = _by_level(plan, _cell_levels(plan, query))
    found = {known[item.key_id]: item.buckets for item in loaded}
    steps = [(int(b.step[0]), int(b.step[-1])) for b in found.values() if len(b)]
    if not steps:
        return CellGrid([], {})
    first = min(low for low, _ in steps) if query.from_step is None else query.from_step
    last = max(high for _, high in steps) if query.to_step is None else query.to_step
    level = downsample.level_for(first, last, query.buckets)
    level = max(level, *(b.level for b in found.values()))
    edges = layers.edges_at(first, last, level)
    return CellGrid(edges, {name: layers.row(b, level, edges) for name, b in found.items()})


def _cell_levels(plan: Plan, query: CellQuery) -> dict[int, int]:
    """key_id -> tier level, of the series whose buckets are no finer than the cells.

    -- uses the primary key of cold blocks, at both ends; nothing is decoded
    """
    statement = """
        SELECT k.id, f.first_step, l.last_step FROM unnest(%s::bigint[]) AS k (id), LATERAL (
            SELECT first_step FROM metrics_coldblock
             WHERE run_id = %s AND key_id = k.id AND attempt = %s ORDER BY last_step LIMIT 1) f,
        LATERAL (
            SELECT last_step FROM metrics_coldblock
             WHERE run_id = %s AND key_id = k.id AND attempt = %s
             ORDER BY last_step DESC LIMIT 1) l
    """
    place = [query.run_id, query.attempt]
    low, high = _ends(plan)
    chosen = {}
    for key_id, first, last in sql.query(statement, [list(plan.key_ids), *place, *place]):
        level = _tier_level(max(first, low), min(last, high), query.buckets)
        if level is not None:
            chosen[key_id] = level
    return chosen


def _ends(plan: Plan) -> tuple[int, int]:
    low = -(1 << 62) if plan.from_step is None else plan.from_step
    return low, 1 << 62 if plan.to_step is None else plan.to_step


def _tier_level(first: int, last: int, points: int) -> int | None:
    """The coarsest level that gives so many points over the steps; None if there is none."""
    if last < first:
        return None
    wanted = downsample.level_for(first, last, points)
    return max((level for level in LEVELS if level <= wanted), default=None)


def _load(plan: Plan, points: int) -> Iterator[_Loaded]:
    """Every series of the plan, long ones from tiers."""
    return _by_level(plan, _tiered(plan, points))


def _by_level(plan: Plan, tiered: Mapping[int, int]) -> Iterator[_Loaded]:
    """Every series of the plan, those of `tiered` (key_id -> level) from tiers."""
    raw = [key_id for key_id in plan.key_ids if key_id not in tiered]
    found = _points(fetch(replace(plan, key_ids=raw)), raw, (plan.from_step, plan.to_step))
    for (key_id, attempt), series in found.items():
        for rank, part in assembly.by_rank(series).items():
            buckets = tiers.from_points(part.step, part.time_ns, part.value, 0)
            listed = downsample.nonfinite(part.step, part.value)
            yield _Loaded(key_id, attempt, rank, buckets, listed)
    for level in sorted(set(tiered.values())):
        chosen = [key_id for key_id, at in tiered.items() if at == level]
        yield from _load_tiers(replace(plan, key_ids=chosen, level=level), level)


def _tiered(plan: Plan, points: int) -> dict[int, int]:
    """key_id -> tier level, of the job's series with too many cold points to read them all.

    -- uses the primary key of cold blocks; nothing is decoded
    """
    statement = """
        SELECT key_id, max(points), min(first_step), max(last_step) FROM (
            SELECT c.key_id, c.attempt, sum(c.points) AS points, min(c.first_step) AS first_step,
                   max(c.last_step) AS last_step
              FROM metrics_coldblock c JOIN metrics_serieskey k
                ON k.run_id = c.run_id AND k.key_id = c.key_id AND NOT k.ranked
             WHERE c.run_id = %s AND c.key_id = ANY(%s) AND (%s::int IS NULL OR c.attempt = %s)
               AND c.last_step >= %s AND c.first_step <= %s
             GROUP BY c.key_id, c.attempt) AS series
         GROUP BY key_id HAVING max(points) > %s
    """
    limit = max(RAW_POINTS, 16 * points)
    low, high = _ends(plan)
    params = [plan.run_id, list(plan.key_ids), plan.attempt, plan.attempt, low, high, limit]
    chosen = {}
    for key_id, _, first, last in sql.query(statement, params):
        level = _tier_level(max(first, low), min(last, high), points)
        if level is not None:
            chosen[key_id] = level
    return chosen


def _load_tiers(plan: Plan, level: int) -> Iterator[_Loaded]:
    stored = fetch(plan)
    steps = (plan.from_step, plan.to_step)
    newest = assembly.points(stored.hot, plan.key_ids, steps)
    odd = assembly.points([*stored.hot, *stored.cold], plan.key_ids, steps) if plan.places else {}
    for series, old in assembly.buckets(stored.tiers).items():
        buckets = _clipped(old, plan, level)
        if series in newest:
            part = newest.pop(series)
            fresh = tiers.from_points(part.step, part.time_ns, part.value, level)
            buckets = tiers.merge(buckets, fresh)
        listed = downsample.nonfinite(odd[series].step, odd[series].value) if series in odd else []
        yield _Loaded(*series, None, buckets, listed)
    for series, part in newest.items():
        fresh = tiers.from_points(part.step, part.time_ns, part.value, level)
        yield _Loaded(*series, None, fresh, downsample.nonfinite(part.step, part.value))


def _clipped(buckets: Buckets, plan: Plan, level: int) -> Buckets:
    """Only the buckets that overlap the steps asked for."""
    bucket = buckets.step >> level
    keep = np.ones(len(buckets), dtype=np.bool_)
    if plan.from_step is not None:
        keep &= bucket >= plan.from_step >> level
    if plan.to_step is not None:
        keep &= bucket <= plan.to_step >> level
    return buckets.take(keep)


def _points(
    stored: Fetched, key_ids: Sequence[int], steps: tuple[int | None, int | None]
) -> Mapping[assembly.SeriesId, Points]:
    return assembly.points([*stored.hot, *stored.cold], key_ids, steps)


def _window(key: str, loaded: _Loaded, points: int) -> SeriesWindow:
    drawn = downsample.draw_buckets(loaded.buckets, points)
    return SeriesWindow(
        key=key,
        attempt=loaded.attempt,
        rank=loaded.rank,
        step=drawn.step.tolist(),
        time_ns=drawn.time_ns.tolist(),
        min=drawn.minimum.tolist(),
        max=drawn.maximum.tolist(),
        last=drawn.last.tolist(),
        count=drawn.count.tolist(),
        nonfinite=loaded.nonfinite,
        points_stored=loaded.buckets.points(),
        points_drawn=len(drawn),
        bucket_steps=1 << drawn.level,
    )
