"""The read operations of `wandb.Api`: each answers one GraphQL request from what is stored."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from apps.core.errors import AppError, BadPayload
from apps.core.words import whole
from apps.ingest.wandb import answers, console, extras_store, readback, runquery, store
from apps.ingest.wandb.graphql import DEFAULT_PROJECT, Operation, project_of, text_of
from apps.ingest.wandb.history import SYSTEM
from apps.metrics import store as metrics
from apps.runs import store as runs
from apps.runs.records import RunInfo

Variables = Mapping[str, Any]
Answer = Callable[[Operation], dict[str, Any]]
MAX_RUNS: Final = 10_000
MAX_PAGE: Final = 500
MAX_DEEP_PAGE: Final = 50
"""With configuration, summary and names: some statements each."""


def found_run(asked: Operation) -> RunInfo | None:
    """The run that a request is about, if it is in the project named; else None."""
    run = runs.get_run(text_of(asked.variables, "name", "run", "runName"))
    return run if run and answers.project_of(run) == project_of(asked.variables) else None


def _of_run(answer: Callable[[RunInfo, Operation], dict[str, Any]]) -> Answer:
    """An operation on one run; what does not exist is null, as for the real server."""

    def view(asked: Operation) -> dict[str, Any]:
        run = found_run(asked)
        return {"project": {"run": answer(run, asked) if run else None}}

    return view


def _run(run: RunInfo, asked: Operation) -> dict[str, Any]:
    return _nodes([run], asked)[0]


def _nodes(found: Sequence[RunInfo], asked: Operation) -> list[dict[str, Any]]:
    """Runs as they are asked for. Light ones cost the same statements, however many."""
    ids = [run.id for run in found]
    lines = store.history_lines(ids)
    nodes = [answers.light(run, lines.get(run.id, 0)) for run in found]
    if not _is_deep(asked):
        return nodes
    summaries = runs.summaries(ids)
    return [
        {**node, **answers.deep(run, _depth(run, summaries.get(run.id, {})))}
        for node, run in zip(nodes, found, strict=True)
    ]


def _is_deep(asked: Operation) -> bool:
    return "summaryMetrics" in asked.query


def _depth(run: RunInfo, summary: Mapping[str, Any]) -> answers.Depth:
    names = metrics.key_names(run.id, ranked=False)
    line = readback.line_of(run.id)
    system = [name for name in names if name.startswith(SYSTEM)]
    newest = metrics.latest(run.id, line[-1].number, system) if line else {}
    return answers.Depth(
        summary=summary,
        system={f"system.{name.removeprefix(SYSTEM)}": v for name, (_, _, v) in newest.items()},
        keys=_keys(run),
    )


def _keys(run: RunInfo) -> dict[str, Any]:
    numbers, others = readback.names_of(run.id), set(extras_store.names(run.id))
    return answers.history_keys(numbers, others, readback.last_step(run.id))


def _page(run: RunInfo, asked: Operation) -> dict[str, Any]:
    first, end = (_whole(asked.variables, name, 0) for name in ("minStep", "maxStep"))
    return {"history": readback.page(run.id, first, end - 1)}


def _full(run: RunInfo, asked: Operation) -> dict[str, Any]:
    samples = max(1, _whole(asked.variables, "samples", 500, most=readback.MAX_SAMPLES))
    if "events(" in asked.query:
        return {"events": readback.events(run.id, samples)}
    return {"history": readback.sampled_lines(run.id, samples)}


def _objects(run: RunInfo, asked: Operation) -> dict[str, Any]:
    specs = asked.variables.get("specs") or [asked.variables.get("spec")]
    if not isinstance(specs, list) or len(specs) > 1:
        raise BadPayload("must be one specification", where="specs")
    return {"sampledHistory": [readback.sampled_objects(run.id, str(spec)) for spec in specs]}


def _console(run: RunInfo, asked: Operation) -> dict[str, Any]:
    attempts = [attempt.number for attempt in readback.line_of(run.id)]
    last = _whole(asked.variables, "last", 0, most=console.MAX_LINES)
    if last:
        found = console.tail(run.id, attempts, last)
    else:
        start = console.place_of(text_of(asked.variables, "after"))
        count = _whole(asked.variables, "first", 1_000, most=console.MAX_LINES)
        found = console.page(run.id, attempts, start, max(1, count))
    lines = console.line_count(run.id, attempts)
    return {"logLineCount": lines, "logLines": found.answer()}


def _listing(asked: Operation) -> dict[str, Any]:
    """A page of runs that pass the filters, in the order asked for."""
    name = project_of(asked.variables)
    passes = runquery.parse_filters(text_of(asked.variables, "filters"))
    key, downwards = runquery.sort_key(text_of(asked.variables, "order"))
    kept = [(key(facts), run_id) for run_id, facts in _facts(name) if passes(facts)]
    order = [run_id for _, run_id in sorted(kept, reverse=downwards)]
    after, count = text_of(asked.variables, "cursor"), _whole(asked.variables, "perPage", 50)
    last = whole(after)
    start = order.index(last) + 1 if last in order else 0
    most = MAX_DEEP_PAGE if _is_deep(asked) else MAX_PAGE
    chosen = order[start : start + max(1, min(count, most))]
    if not kept and not runs.project_runs(_stored(name), limit=1):
        return {"project": None}
    there = runs.by_id(chosen)
    found = [there[run_id] for run_id in chosen if run_id in there]
    nodes = zip([str(run.id) for run in found], _nodes(found, asked), strict=True)
    page = answers.page(list(nodes), more=start + len(chosen) < len(order))
    number = answers.project_id(name)
    project = {"internalId": number, "runCount": len(order), "readOnly": False, "runs": page}
    return {"project": project}


def _stored(project: str) -> str:
    return "" if project == DEFAULT_PROJECT else project


def _facts(project: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Every run of a project with what it can be chosen by; AppError beyond MAX_RUNS."""
    after, seen = 0, 0
    while page := runs.project_runs(_stored(project), after):
        after, seen = page[-1].id, seen + len(page)
        if seen > MAX_RUNS:
            raise AppError(f"the project has more than {MAX_RUNS} runs", hint="split it")
        summaries = runs.summaries([run.id for run in page])
        yield from ((run.id, answers.facts(run, summaries.get(run.id, {}))) for run in page)


def _projects(asked: Operation) -> dict[str, Any]:
    after, count = text_of(asked.variables, "cursor"), _whole(asked.variables, "perPage", 50)
    known = sorted({name or DEFAULT_PROJECT: first for name, first in runs.projects()}.items())
    rest = [(name, answers.project(name, first)) for name, first in known if name > after]
    size = max(1, min(count, MAX_PAGE))
    return {"models": answers.page(rest[:size], more=len(rest) > size)}


def _project(asked: Operation) -> dict[str, Any]:
    name = project_of({"project": text_of(asked.variables, "name", "project")})
    first = runs.project_runs(_stored(name), limit=1)
    return {"project": answers.project(name, first[0].created_at) if first else None}


def _whole(variables: Variables, name: str, default: int, *, most: int = 2**62) -> int:
    value = variables.get(name)
    if value is None:
        return default
    if not isinstance(value, int) or isinstance(value, bool):
        raise BadPayload("must be a whole number", where=name)
    return max(0, min(value, most))


READS: Final[Mapping[str, Answer]] = {
    "Run": _of_run(_run),
    "RunState": _of_run(lambda run, _: {"state": answers.state(run)}),
    "RunHistoryKeys": _of_run(lambda run, _: {"historyKeys": _keys(run)}),
    "RunFullHistory": _of_run(_full),
    "RunSampledHistory": _of_run(_objects),
    "RunParquetHistory": _of_run(
        lambda *_: {"parquetHistory": {"parquetUrls": [], "liveData": []}}
    ),
    "HistoryPage": _of_run(_page),
    "SampledHistoryPage": _of_run(_objects),
    "RunConsoleLogPage": _of_run(_console),
    "RunConsoleLogTail": _of_run(_console),
    "Runs": _listing,
    "GetProjects": _projects,
    "GetProject": _project,
    "IsProjectReadOnly": _project,
}
