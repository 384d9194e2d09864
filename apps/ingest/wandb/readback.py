"""The history that is stored of a run, for programs that read it back with `wandb.Api`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from apps.core.errors import AppError, BadPayload
from apps.ingest.wandb import extras_store, history
from apps.ingest.wandb.history import SYSTEM, Extras, Row, Series, Table
from apps.metrics import store as metrics
from apps.metrics.records import SeriesQuery
from apps.rollbacks.domain.lineage import Branch, past
from apps.runs import store as runs
from apps.runs.records import AttemptInfo

MAX_POINTS: Final = 2_000_000
"""In one page, or to choose samples from; what is longer is sampled from tiers."""
MAX_EXTRA_BYTES: Final = 16 << 20
"""Packed, in one answer; samples of more come without it."""
MAX_SAMPLES: Final = 10_000
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

    def extra_bytes(self) -> int:
        """Packed bytes of what its rows say beside numbers."""
        return extras_store.stored_bytes(self.run_id, self.attempt, self.first, self.last)

    def extras(self) -> Extras:
        """What its rows say beside numbers."""
        return extras_store.read(self.run_id, self.attempt, self.first, self.last)


def line_of(run_id: int) -> list[AttemptInfo]:
    """The attempts that led to the newest one with rows, oldest first."""
    known = {attempt.number: attempt for attempt in runs.attempts(run_id)}
    newest = max((n for n, attempt in known.items() if attempt.first_step is not None), default=-1)
    branches = [Branch(a.number, a.parent, a.fork_step) for a in known.values()]
    return [known[stretch.attempt] for stretch in reversed(past(branches, newest))]


def spans(run_id: int, first: int | None = None, last: int | None = None) -> list[Span]:
    """Where the run's history lies, oldest first: of each step the newest attempt's rows.

    What an attempt logged beyond the step that the next one took over is abandoned, not history.
    """
    found: list[Span] = []
    end = last
    for attempt in reversed(line_of(run_id)):
        if end is None or first is None or first <= end:
            found.append(Span(run_id, attempt.number, first, end))
        if attempt.fork_step is not None:
            end = attempt.fork_step - 1 if end is None else min(end, attempt.fork_step - 1)
    return list(reversed(found))


def last_step(run_id: int) -> int:
    """The newest step of the run's history; -1 if nothing was logged."""
    steps = [attempt.last_step for attempt in line_of(run_id) if attempt.last_step is not None]
    return steps[-1] if steps else -1


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
    points = sum(span.points() for span in asked)
    if points > MAX_POINTS or sum(span.extra_bytes() for span in asked) > MAX_EXTRA_BYTES:
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
    tables: list[tuple[Table, Extras]] = [
        (_table(span, system, samples), {}) for span in spans(run_id)
    ]
    rows = _chosen(tables, samples, ())
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
    names = [n for n in known if any(n == w or n.startswith(f"{w}/") for w in wanted)]
    rows = _sampled(asked, sorted(names if wanted else known), samples, wanted)
    found = [(row, history.chosen(row, list(aliases.values()))) for row in rows]
    return [{key: part[name] for key, name in aliases.items() if name in part} for _, part in found]


def _spec(text: str) -> tuple[list[str], int, int | None, int | None]:
    try:
        spec = orjson.loads(text)
        keys = [str(key) for key in dict.fromkeys(spec["keys"])]
        steps = [spec.get(name) for name in ("minStep", "maxStep")]
        first, last = (None if step is None else int(step) for step in steps)
        return keys, min(int(spec.get("samples") or 500), MAX_SAMPLES), first, last
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise BadPayload(f"is no specification ({error!r})", where="specs") from None


def _sampled(
    asked: Sequence[Span], names: Sequence[str], samples: int, needed: Collection[str] = ()
) -> list[Row]:
    """Rows that hold all `needed` names, evenly chosen over all spans."""
    small = sum(span.extra_bytes() for span in asked) <= MAX_EXTRA_BYTES
    few = small and sum(span.points() for span in asked) <= MAX_POINTS
    tables = [(_table(span, names, samples), span.extras() if few else {}) for span in asked]
    return _chosen(tables, samples, needed)


def _chosen(
    tables: Sequence[tuple[Table, Extras]], samples: int, needed: Collection[str]
) -> list[Row]:
    holding = [
        (table, extras, place)
        for table, extras in tables
        for place in history.holding(table, extras, needed)
    ]
    chosen = [holding[at] for at in history.evenly(len(holding), samples)]
    return [row for table, extras, at in chosen for row in history.rows(table, extras, [at])]


def _table(span: Span, names: Sequence[str], samples: int) -> Table:
    """The numbers of a span, thinned out if they are many."""
    return span.read(names) if span.points() <= MAX_POINTS else _thinned(span, names, samples)


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
