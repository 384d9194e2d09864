"""Which labels there are, and which values they have, for the pickers of Grafana and `logcli`."""

from __future__ import annotations

from collections.abc import Iterable

from apps.api.loki.fetching import LEVELS, Found, runs_of
from apps.logs import store as logs
from apps.logs.domain.query.logql import Selection
from apps.runs import store as runs
from apps.runs.records import RunInfo

MAX_VALUES = 20_000
MAX_LOOKED_AT = 10
"""Runs whose files and ranks are listed where no run is named: the newest."""


def values_of(label: str, selection: Selection) -> list[str]:
    """Values of one label among the selected runs, sorted; those of files and ranks are taken from
    the newest attempt of each run."""
    if label == "level":
        return list(LEVELS)
    chosen = runs_of(selection, Found())
    if label in ("run", "project"):
        return sorted({run.key if label == "run" else run.project for run in chosen})
    found: set[str] = set()
    for run in chosen[:MAX_LOOKED_AT]:
        found.update(_of_run(label, run))
    return sorted(found)[:MAX_VALUES]


def _of_run(label: str, run: RunInfo) -> Iterable[str]:
    attempts = [attempt.number for attempt in runs.attempts(run.id)]
    if label == "attempt":
        return map(str, attempts)
    newest = max(attempts, default=0)
    if label in ("rank", "node"):
        ranks = logs.rank_activity(run.id, newest)
        if label == "node":
            return {rank.node for rank in ranks if rank.node}
        return {str(rank.rank) for rank in ranks if rank.rank is not None}
    sources = logs.sources(run.id, newest)
    return {source.source if label == "source" else source.channel for source in sources}


def series_of(selection: Selection) -> list[dict[str, str]]:
    """The streams of the newest attempt of the selected runs: a file with its node and rank."""
    found = []
    for run in runs_of(selection, Found())[:MAX_LOOKED_AT]:
        newest = max((attempt.number for attempt in runs.attempts(run.id)), default=0)
        for source in logs.sources(run.id, newest):
            labels = {
                "run": run.key,
                "project": run.project,
                "attempt": str(newest),
                "node": source.node or "",
                "source": source.source,
                "channel": source.channel,
            }
            if all(m.matches(labels.get(m.label, "")) for m in selection.matchers):
                found.append({name: value for name, value in labels.items() if value})
    return found
