"""`bench triage`: who failed first, from the files of jobs whose answer is known.

--data: a folder of folders, each with the log files of one job, or the flight recorder dumps of its
ranks (`fr/_dump_N`, `fr_json/rank_N.json`), and `truth.json`:
{"first_failing_rank": rank, list of ranks or null, "answerable": true, ...}; without it, a storm
(triagestorm.py). --recorded: the recorded runs, in --data or those that ship (triagerecorded.py).
--json FILE writes the answers: {case: {"rank", "host",
"fault_class", "confidence"}}.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from apps.core.errors import AppError
from apps.logs.domain.triage.classify import Taxonomy, taxonomy
from apps.logs.domain.triage.flight import FlightVerdict, judge
from apps.logs.domain.triage.report import confidence_word
from workers.benches import triagerecorded, triagestorm
from workers.benches.caseanswers import Answer, answered
from workers.benches.casefiles import dumps_of, files_of, lines_of
from workers.benches.report import BenchOptions, BenchReport

TRUTH = "truth.json"


def run(options: BenchOptions) -> BenchReport:
    """How many first ranks are right, how many answers are wrong and sure, lines a CPU second."""
    if options.recorded:
        return triagerecorded.run(options)
    if options.data is None:
        return triagestorm.run(options)
    known, faults = list(_cases(options.data)), taxonomy()
    faults.classify("the table of faults is read before the clock runs")
    started, lines = time.process_time(), 0
    answers: dict[str, Answer] = {}
    for folder, _ in known:
        answers[folder.name], count = answer_of(folder, faults)
        lines += count
    cpu_s = time.process_time() - started
    judged = [(answers[folder.name], truth) for folder, truth in known]
    figures = {"cases": len(known), "lines": lines, "lines_per_cpu_s": round(lines / cpu_s)}
    figures |= score(judged)
    rows = [
        (name, str(one.rank), one.host or "-", one.fault_class or "-", one.confidence)
        for name, one in answers.items()
    ]
    rows += [(name.replace("_", " "), f"{value:,}", "", "", "") for name, value in figures.items()]
    head = ("case", "rank", "host", "fault", "confidence")
    details = {name: one.as_json() for name, one in answers.items()}
    return BenchReport(head, tuple(rows), figures, details=details)


def _cases(data: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    found = sorted(path.parent for path in data.rglob(TRUTH))
    if not found:
        raise AppError(f"no {TRUTH} below it", where=str(data))
    return ((folder, orjson.loads((folder / TRUTH).read_bytes())) for folder in found)


def answer_of(folder: Path, faults: Taxonomy) -> tuple[Answer, int]:
    """The answer to the files of one job, and how many lines they have. Dumps speak where lines
    name no rank."""
    lines = lines_of(files_of(folder))
    said = answered(lines, faults)
    dumps = dumps_of(folder) if said.rank is None else {}
    return _said_by_dumps(said, judge(dumps)) if dumps else said, lines.lines


def _said_by_dumps(said: Answer, flight: FlightVerdict) -> Answer:
    if not flight.ranks:
        return said
    rank = flight.ranks if len(flight.ranks) > 1 else flight.ranks[0]
    return replace(said, rank=rank, confidence=confidence_word(flight.confidence))


def score(judged: list[tuple[Answer, dict[str, Any]]]) -> dict[str, int]:
    """Counts over jobs whose first rank can be known from their files, and over those where it
    cannot: there naming one is wrong."""
    knowable = [(a, t) for a, t in judged if _is_knowable(t["answerable"]) and _ranks(t)]
    others = [a for a, t in judged if not _ranks(t)]
    sure = ("high", "medium")
    return {
        "ranks_to_find": len(knowable),
        "ranks_right": sum(_is_right(a, t) for a, t in knowable),
        "ranks_wrong_and_sure": sum(
            a.rank is not None and not _is_right(a, t) and a.confidence in sure for a, t in knowable
        ),
        "not_to_find": len(others),
        "not_to_find_left_open": sum(a.rank is None for a in others),
    }


def _is_knowable(said: bool | str) -> bool:
    return said is True or str(said).startswith("ranks only")


def _is_right(answer: Answer, truth: dict[str, Any]) -> bool:
    """`accept`: what the files show where the truth is more than that."""
    named = set(answer.rank) if isinstance(answer.rank, tuple) else {answer.rank}
    return named in (_ranks(truth), set(truth.get("accept", ())))


def _ranks(truth: dict[str, Any]) -> set[int]:
    said = truth["first_failing_rank"]
    return set(said) if isinstance(said, list) else set() if said is None else {said}
