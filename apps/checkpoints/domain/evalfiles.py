"""Result files of lm-evaluation-harness and LightEval. Pure; the bytes come from outside.

Formats: `results_<time>.json` of lm-evaluation-harness 0.4.13 (lm_eval/result_schema.py) and of
LightEval 0.13.0 (logging/evaluation_tracker.py, `results`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from apps.checkpoints.domain.scores import MAX_NAME_CHARS, MAX_SCORES, Measured, direction
from apps.checkpoints.domain.steps import step_of_parts
from apps.core.errors import BadPayload

MAX_FILE_BYTES: Final = 16 * 1024 * 1024
"""Of one result file: the configurations of 400 tasks take about 4 MiB."""
LM_EVAL: Final = "lm-evaluation-harness"
LIGHTEVAL: Final = "LightEval"
_AVERAGE: Final = ":_average"


@dataclass(frozen=True, slots=True)
class ResultFile:
    """What a file says. tool: who wrote it. model: what was evaluated, "" if it does not say.
    step: read from that path, None if it names none. left_out: numbers that could not be taken."""

    tool: str
    model: str
    step: int | None
    measured: tuple[Measured, ...]
    left_out: int


def parse(content: bytes) -> ResultFile:
    """A result file as its scores. Raises BadPayload only.

    NaN, which both tools write where a bootstrap failed, is left out and counted; a standard error
    of NaN or "N/A" is none.
    """
    if len(content) > MAX_FILE_BYTES:
        raise BadPayload(f"a result file of {len(content):,} bytes is over {MAX_FILE_BYTES:,}")
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise BadPayload(f"this is no JSON: {str(error)[:200]}", where="result") from error
    return read(found)


def read(found: Any) -> ResultFile:
    """The same of a decoded file."""
    if not isinstance(found, dict) or not isinstance(found.get("results"), dict):
        raise BadPayload(
            'a result file is an object with "results"',
            where="result",
            hint=f"send the results_*.json of {LM_EVAL} or {LIGHTEVAL}",
        )
    made = _lighteval(found) if "config_general" in found else _lm_eval(found)
    if not made.measured:
        raise BadPayload("there is no score in this file", where="result.results")
    return made


def _lm_eval(found: Mapping[str, Any]) -> ResultFile:
    parts = _subtasks(found)
    better = _dict(found, "higher_is_better")
    samples = _dict(found, "n-samples")
    taken = _Taken()
    for task, numbers in found["results"].items():
        if not isinstance(numbers, dict):
            continue
        for key, value in numbers.items():
            metric, comma, chain = str(key).partition(",")
            # Only "metric,filter" is a number of the task; sample_len and alias are not.
            if not comma or metric.endswith("_stderr"):
                continue
            way = _dict(better, task).get(metric)
            taken.add(
                Measured(
                    task=str(task),
                    metric=metric if chain == "none" else str(key),
                    value=value,
                    stderr=_number(numbers.get(f"{metric}_stderr,{chain}")),
                    higher_is_better=way if isinstance(way, bool) else direction(metric),
                    samples=_whole(_dict(samples, task).get("effective")),
                    part=task in parts,
                )
            )
    model = _model(found)
    return ResultFile(LM_EVAL, model, _step(model), tuple(taken.measured), taken.left_out)


def _subtasks(found: Mapping[str, Any]) -> set[str]:
    """Tasks of groups that have a number of their own."""
    groups = _dict(found, "groups")
    return {
        str(task)
        for group, tasks in _dict(found, "group_subtasks").items()
        if group in groups and isinstance(tasks, list)
        for task in tasks
        if task != group
    }


def _model(found: Mapping[str, Any]) -> str:
    args = _dict(found, "config").get("model_args")
    if isinstance(args, dict):
        named = args.get("pretrained") or args.get("model")
    else:
        pairs = (part.partition("=") for part in str(args or "").split(","))
        named = next((value for key, _, value in pairs if key in ("pretrained", "model")), None)
    return str(named or found.get("model_name") or "")[:4_000]


def _lighteval(found: Mapping[str, Any]) -> ResultFile:
    general = _dict(found, "config_general")
    results = {task: one for task, one in found["results"].items() if isinstance(one, dict)}
    if len(results) <= 2:
        results.pop("all", None)  # the mean of one task says that task again
    taken = _Taken()
    for task, numbers in results.items():
        better = _ways(found, task)
        mean = task == "all" or _AVERAGE in task
        for metric, value in numbers.items():
            if metric.endswith("_stderr"):
                continue
            # The file's own error of a mean is the mean of the errors: it says nothing.
            stderr = None if mean else _number(numbers.get(f"{metric}_stderr"))
            way = better.get(metric, direction(metric))
            part = _in_average(task, results)
            taken.add(Measured(str(task), str(metric), value, stderr, way, None, part))
    measured = _agreed(taken.measured)
    model = str(_dict(general, "model_config").get("model_name") or general.get("model_name") or "")
    return ResultFile(LIGHTEVAL, model[:4_000], _step(model), measured, taken.left_out)


def _in_average(task: str, results: Mapping[str, Any]) -> bool:
    """Whether an average of the family of a task ("mmlu:law|5": "mmlu:_average|5") is there."""
    name, _, shots = task.rpartition("|")
    family, colon, _ = name.partition(":")
    return bool(colon) and _AVERAGE not in task and f"{family}{_AVERAGE}|{shots}" in results


def _ways(found: Mapping[str, Any], task: str) -> dict[str, bool]:
    """Metric -> whether more is better, as the configuration of the task says."""
    configs = _dict(found, "config_tasks")
    config = _dict(configs, task) or _dict(configs, task.partition("|")[2])
    listed = config.get("metrics", config.get("metric", ()))
    ways: dict[str, bool] = {}
    for one in listed if isinstance(listed, list) else ():
        if not isinstance(one, dict):
            continue
        names, way = one.get("metric_name"), one.get("higher_is_better")
        for name in names if isinstance(names, list) else [names]:
            said = way.get(name) if isinstance(way, dict) else way
            if isinstance(name, str) and isinstance(said, bool):
                ways[name] = said
    return ways


def _agreed(measured: list[Measured]) -> tuple[Measured, ...]:
    """Means have no configuration of their own: they follow their tasks, where those agree."""
    said: dict[str, set[bool]] = {}
    for one in measured:
        if one.higher_is_better is not None:
            said.setdefault(one.metric, set()).add(one.higher_is_better)
    return tuple(
        replace(one, higher_is_better=next(iter(said[one.metric])))
        if one.higher_is_better is None and len(said.get(one.metric, ())) == 1
        else one
        for one in measured
    )


class _Taken:
    """The scores of a file, as many as are taken, and how many are not."""

    def __init__(self) -> None:
        self.measured: list[Measured] = []
        self.left_out = 0

    def add(self, one: Measured) -> None:
        value = _number(one.value)
        names = (one.task, one.metric)
        fine = all(0 < len(name) <= MAX_NAME_CHARS and name.isprintable() for name in names)
        if value is None or not fine or len(self.measured) >= MAX_SCORES:
            self.left_out += 1
            return
        self.measured.append(replace(one, value=value))


def _dict(found: Mapping[Any, Any], key: Any) -> dict[Any, Any]:
    value = found.get(key)
    return value if isinstance(value, dict) else {}


def _number(value: Any) -> float | None:
    """A finite number, else None. A switch is no number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        known = float(value)
    except OverflowError:
        return None
    return known if math.isfinite(known) else None


def _whole(value: Any) -> int | None:
    fine = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53
    return value if fine else None


def _step(model: str) -> int | None:
    found = step_of_parts([part for part in model.split("/") if part])
    return found[1] if found else None
