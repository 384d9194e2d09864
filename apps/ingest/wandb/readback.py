"""The history that is stored of a run, for programs that read it back with `wandb.Api`."""

from __future__ import annotations

from collections.abc import Collection, Container, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import orjson

from apps.core.errors import AppError, BadPayload
from apps.ingest.wandb import extras_store, history
from apps.ingest.wandb.extras import above_of
from apps.ingest.wandb.history import SYSTEM, Extras, Row, Series, Table
from apps.ingest.wandb.lineage import line_to, newest_of
from apps.metrics import store as metrics
from apps.metrics.records import SeriesQuery
from apps.runs import store as runs
from apps.runs.records import AttemptInfo

MAX_POINTS: Final = 2_000_000
"""In one page, or to choose samples from; what is longer is sampled from tiers."""
MAX_EXTRA_BYTES: Final = 16 << 20
"""Packed, in one answer; samples of more come without it."""
MAX_SAMPLES: Final = 10_000
MAX_ROWS: Final = 200_000
"""With something beside numbers, in one answer: half a KB of memory each."""
MAX_KEYS: Final = 5_000
OWN: Final = frozenset({"_step", "_timestamp", "_runtime"})


@dataclass(frozen=True, slots=True)
class Span:
    """Steps first to last of one attempt, both included; None: no end."""

    run_id: int
    attempt: int
    first: int | None
    last: int | None

    def points(self) -> int:
        """At most how many points lie in it."""
        return metrics.count_points(self.run_id, self.attempt, self.first, self.last)

    def read(self, names: Sequence[str]) -> Table:
        """Its numbers."""
        read = metrics.read_rows(self.run_id, self.attempt, names, self.first, self.last)
        return history.table(read)

    def rows(self) -> int:
        """How many lines of W&B processes lie in it."""
        return extras_store.count_rows(self.run_id, self.attempt, self.first, self.last)

    def extra_size(self) -> tuple[int, int]:
        """Packed bytes of what its rows say beside numbers, and how many rows say something."""
        return extras_store.stored(self.run_id, self.attempt, self.first, self.last)

    def extras(self, only: Container[tuple[int, int]] | None = None) -> Extras:
        """What its rows say beside numbers. only: those of these moments."""
        return extras_store.read(self.run_id, self.attempt, self.first, self.last, only)


def line_of(run_id: int, tip: int | None = None) -> list[AttemptInfo]:
    """The attempts that led to `tip`, or to the newest one that logs or rewound; oldest first."""
    attempts = runs.attempts(run_id)
    return line_to(attempts, newest_of(attempts) if tip is None else tip)[::-1]


def spans(
    run_id: int, first: int | None = None, last: int | None = None, tip: int | None = None
) -> list[Span]:
    """Where the history that led to an attempt lies (tip: as for line_of), oldest first: of each
    step the newest attempt's rows.

    What an attempt logged beyond the step that the next one took over is abandoned, not history.
    """
    found: list[Span] = []
    end = last
    for attempt in reversed(line_of(run_id, tip)):
        if end is None or first is None or first <= end:
            found.append(Span(run_id, attempt.number, first, end))
        if attempt.fork_step is not None:
            end = attempt.fork_step - 1 if end is None else min(end, attempt.fork_step - 1)
    return list(reversed(found))


def last_step(run_id: int) -> int:
    """The newest step of the run's history; -1 if nothing was logged."""
    logged = {attempt.number: attempt.last_step for attempt in line_of(run_id)}
    for span in reversed(spans(run_id)):
        step = logged[span.attempt]
        if step is not None:
            return step if span.last is None else min(step, span.last)
    return -1


def names_of(run_id: int) -> list[str]:
    """The names of the numbers of the run's history."""
    names = metrics.key_names(run_id, ranked=False)
    return [name for name in names if not name.startswith(SYSTEM)]


def page(run_id: int, first: int, last: int) -> list[str]:
    """Every line of history with a step of first to last, both included.

    AppError for more than MAX_POINTS points: a part would look like the whole.
    """
    asked = spans(run_id, first, last)
    _check_size(asked)
    names = names_of(run_id)
    return [
        history.line(row) for span in asked for row in history.rows(span.read(names), span.extras())
    ]


def _check_size(asked: Sequence[Span]) -> None:
    extra_bytes, extra_rows = _extra_size(asked)
    too_much = extra_bytes > MAX_EXTRA_BYTES or extra_rows > MAX_ROWS
    if too_much or _points(asked) > MAX_POINTS:
        raise AppError(
            f"these steps hold more than {MAX_POINTS} points, or too much beside them",
            where="maxStep",
            hint="ask for fewer steps at once: scan_history(page_size=100)",
        )


def sampled_lines(run_id: int, samples: int) -> list[str]:
    """At most `samples` lines of history, evenly chosen; all of them if there are not more."""
    return [history.line(row) for row in _sampled(spans(run_id), names_of(run_id), samples)]


def events(run_id: int, samples: int) -> list[str]:
    """At most `samples` lines of system metrics, evenly chosen."""
    names = metrics.key_names(run_id, ranked=False)
    system = [name for name in names if name.startswith(SYSTEM)]
    asked = spans(run_id)
    few = _points(asked) <= MAX_POINTS
    rows = _by_numbers(asked, _tables(asked, system, samples, few=few), samples)
    return [orjson.dumps(history.event(row)).decode() for row in rows]


def sampled_objects(run_id: int, spec: str) -> list[dict[str, Any]]:
    """The rows that hold all keys of a spec; with steps: all of them, else evenly chosen ones.

    spec: JSON {"keys", "samples", "minStep"?, "maxStep"?}, both steps included. BadPayload if it
    is none.
    """
    keys, samples, first, last = _spec(spec)
    asked = spans(run_id, first, last)
    if first is not None:
        _check_size(asked)
        samples = MAX_POINTS
    known, aliases = set(names_of(run_id)), dict[str, str]()
    for key in keys:
        inner = key.replace(".", "/")
        aliases[key] = inner if key not in known and inner in known else key
    wanted = {name for name in aliases.values() if name not in OWN}
    names = [n for n in known if n in wanted or not wanted.isdisjoint(above_of(n))]
    rows = _sampled(asked, sorted(names if wanted else known), samples, wanted)
    found = [(row, history.chosen(row, list(aliases.values()))) for row in rows]
    return [{key: part[name] for key, name in aliases.items() if name in part} for _, part in found]


def _spec(text: str) -> tuple[list[str], int, int | None, int | None]:
    try:
        spec = orjson.loads(text)
        keys = [str(key) for key in dict.fromkeys(spec["keys"])]
        steps = [spec.get(name) for name in ("minStep", "maxStep")]
        first, last = (None if step is None else int(step) for step in steps)
        samples = max(1, min(int(spec.get("samples") or 500), MAX_SAMPLES))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise BadPayload(f"is no specification ({error!r})", where="specs") from None
    if len(keys) > MAX_KEYS:
        raise BadPayload(f"has more than {MAX_KEYS} keys", where="specs.keys")
    return keys, samples, first, last


def _sampled(
    asked: Sequence[Span], names: Sequence[str], samples: int, needed: Collection[str] = ()
) -> list[Row]:
    """Rows that hold all `needed` names, evenly chosen over all spans.

    Of more than MAX_ROWS those are chosen that hold them as numbers.
    """
    few = _points(asked) <= MAX_POINTS
    extra_bytes, extra_rows = _extra_size(asked) if few else (0, 0)
    small = few and extra_bytes <= MAX_EXTRA_BYTES
    tables = _tables(asked, names, samples, few=few)
    if not small or extra_rows > MAX_ROWS:
        return _by_numbers(asked, tables, samples, needed, with_extras=small)
    holding = [
        (table, extras, place)
        for table, extras in zip(tables, [span.extras() for span in asked], strict=True)
        for place in history.holding(table, extras, needed)
    ]
    chosen = [holding[at] for at in history.evenly(len(holding), samples)]
    return [row for table, extras, at in chosen for row in history.rows(table, extras, [at])]


def _by_numbers(
    asked: Sequence[Span],
    tables: Sequence[Table],
    samples: int,
    needed: Collection[str] = (),
    *,
    with_extras: bool = False,
) -> list[Row]:
    """The same by numbers alone: nothing but the chosen rows becomes an object."""
    found, begin = list[Row](), 0
    held = [history.numbered(table, needed) for table in tables]
    chosen = np.array(history.evenly(sum(map(len, held)), samples), dtype=np.intp)
    for span, table, rows in zip(asked, tables, held, strict=True):
        own = chosen[(chosen >= begin) & (chosen < begin + len(rows))] - begin
        places = [history.place(table, at) for at in rows[own].tolist()]
        extras = span.extras({moment for _, moment in places}) if with_extras else {}
        found += history.rows(table, extras, places)
        begin += len(rows)
    return found


def _points(asked: Sequence[Span]) -> int:
    return sum(span.points() for span in asked)


def _extra_size(asked: Sequence[Span]) -> tuple[int, int]:
    sizes = [span.extra_size() for span in asked]
    return sum(size for size, _ in sizes), sum(rows for _, rows in sizes)


def _tables(asked: Sequence[Span], names: Sequence[str], samples: int, *, few: bool) -> list[Table]:
    """The numbers of the spans, thinned out if together they are not few."""
    return [span.read(names) if few else _thinned(span, names, samples) for span in asked]


def _thinned(span: Span, names: Sequence[str], samples: int) -> Table:
    """The newest finite point of each of at most `samples` buckets of steps."""
    query = SeriesQuery(
        span.run_id, tuple(names), span.attempt, None, span.first, span.last, samples
    )
    found: Series = {
        window.key: history.arrays(window.step, window.time_ns, window.last)
        for window in metrics.read_series(query)
        if window.rank is None
    }
    return history.table(found)
