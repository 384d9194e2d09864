"""What is evaluated, by which command, and what becomes of a try. Pure."""

from __future__ import annotations

import re
import string
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Final

from apps.core.errors import AppError

PLACEHOLDERS: Final = ("checkpoint", "step", "attempt", "run", "output", "suite")
MAX_WORDS: Final = 100
MAX_WORD_CHARS: Final = 2_000
MIN_TIMEOUT_S, MAX_TIMEOUT_S = 10, 48 * 3_600
MAX_TRIES: Final = 5
MAX_EVERY: Final = 2**53
_PLAIN: Final = re.compile(r"[\w@%+=:./-]+", re.ASCII)


class State(StrEnum):
    """Where a job is. WAITING and RUNNING are active: at most one job of a checkpoint and suite
    is."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


ACTIVE: Final = (State.WAITING, State.RUNNING)


@dataclass(frozen=True, slots=True)
class Lease:
    """How an evaluator holds a job.

    lease_s: after so long without a word the job is given to another one. renew_s: how often it
    gives word. silent_s: an evaluator that could not renew for so long kills its command: before
    the lease is over by any clock that differs by less than lease_s - silent_s.
    """

    lease_s: float = 180.0
    renew_s: float = 15.0
    silent_s: float = 90.0


DEFAULT_LEASE: Final = Lease()
RETRY_S: Final = 60.0
"""Before the second try; each further one waits twice as long."""


class How(StrEnum):
    """How a try ended."""

    DONE = "done"
    EXIT = "exit"
    TIMEOUT = "timeout"
    NO_RESULT = "no_result"
    LOST = "lost"
    UNSTARTED = "unstarted"
    CHANGED = "changed"
    REFUSED = "refused"
    STOPPED = "stopped"
    CANCELLED = "cancelled"


_AGAIN: Final = frozenset({How.EXIT, How.LOST, How.UNSTARTED})
"""What may go better the next time. A command that ran out of its time, wrote no result, may not
run, or whose checkpoint changed would only do so again."""


@dataclass(frozen=True, slots=True)
class Next:
    """What becomes of a job after a try. wait_s: before the next one. counts: it was a try."""

    state: State
    wait_s: float = 0.0
    counts: bool = True


def after(how: How, tries: int, most: int) -> Next:
    """tries: this one counted. most: tries a job has."""
    if how is How.DONE:
        return Next(State.DONE)
    if how is How.CANCELLED:
        return Next(State.CANCELLED)
    if how is How.STOPPED:  # a restart of ours is nobody's failure
        return Next(State.WAITING, counts=False)
    if how in _AGAIN and tries < most:
        return Next(State.WAITING, RETRY_S * 2 ** (tries - 1))
    return Next(State.FAILED)


@dataclass(frozen=True, slots=True)
class Suite:
    """A command that evaluates a checkpoint, as an administrator set it.

    argv: its words; none of them ever sees a shell. every_steps: a complete checkpoint is evaluated
    by itself when it is so many steps past the last one; None: only when somebody asks.
    """

    name: str
    argv: tuple[str, ...]
    timeout_s: int = 4 * 3_600
    tries: int = 2
    every_steps: int | None = None
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class Subject:
    """What a command is told. checkpoint: its path or address. output: the folder for results."""

    checkpoint: str
    step: int
    attempt: int
    run: str
    output: str
    suite: str


def checked(suite: Suite, programs: Collection[str]) -> Suite:
    """The suite, if its command may run at all; AppError names the field at fault.

    programs: what this installation allows, as absolute paths.
    """
    _check_argv(suite.argv, programs)
    for name, value, low, high in (
        ("timeout_s", suite.timeout_s, MIN_TIMEOUT_S, MAX_TIMEOUT_S),
        ("tries", suite.tries, 1, MAX_TRIES),
        ("every_steps", suite.every_steps or 1, 1, MAX_EVERY),
    ):
        if not low <= value <= high:
            raise AppError(f"{value} is out of range", where=name, hint=f"{low:,} to {high:,}")
    return suite


def _check_argv(argv: Sequence[str], programs: Collection[str]) -> None:
    if not 0 < len(argv) <= MAX_WORDS:
        raise AppError(f"a command has 1-{MAX_WORDS} words, one a line", where="argv")
    if argv[0] not in programs:
        known = ", ".join(sorted(programs)) or "none: EVALUATION_PROGRAMS is not set"
        raise AppError(
            f'"{argv[0][:200]}" is no program that may run here',
            where="argv[0]",
            hint=f"the operator of Lastgood allows {known}",
        )
    for at, word in enumerate(argv[1:], 1):
        _check_word(word, f"argv[{at}]")
    if not any("{output}" in word for word in argv):
        raise AppError(
            "the command is not told where to write its result",
            where="argv",
            hint="give {output} as its output folder, such as --output_path {output}",
        )


def _check_word(word: str, where: str) -> None:
    if not 0 < len(word) <= MAX_WORD_CHARS or "\0" in word:
        raise AppError(f"a word has 1-{MAX_WORD_CHARS:,} characters", where=where)
    try:
        parts = list(string.Formatter().parse(word))
    except ValueError as error:
        raise AppError(f"{error}; a brace is written twice", where=where) from error
    for _, name, form, conversion in parts:
        if name is not None and (name not in PLACEHOLDERS or form or conversion):
            known = ", ".join(f"{{{one}}}" for one in PLACEHOLDERS)
            raise AppError(
                f'"{{{name[:40]}}}" is not known', where=where, hint=f"there are {known}"
            )


def command(suite: Suite, subject: Subject, programs: Collection[str]) -> list[str]:
    """The words to start. Each placeholder is filled inside its own word; AppError if the suite is
    not allowed here or a value could be read as more than itself."""
    checked(suite, programs)
    values: Mapping[str, str] = {
        "checkpoint": subject.checkpoint,
        "step": str(subject.step),
        "attempt": str(subject.attempt),
        "run": subject.run,
        "output": subject.output,
        "suite": subject.suite,
    }
    for name in ("checkpoint", "run"):
        _check_value(name, values[name], suite.argv)
    return [suite.argv[0], *(word.format_map(values) for word in suite.argv[1:])]


def _check_value(name: str, value: str, argv: Sequence[str]) -> None:
    """A value that stands inside a larger word must be plain: "a,trust_remote_code=True" would
    become an argument of its own for lm_eval."""
    mark = f"{{{name}}}"
    inside = any(mark in word and word != mark for word in argv)
    if "\0" in value or value.startswith("-") or (inside and not _PLAIN.fullmatch(value)):
        raise AppError(
            f'the {name} "{value[:200]}" cannot be given to a command',
            where=name,
            hint=f"give {mark} as a word of its own, or use letters, digits and _ @ % + = : . / -",
        )


def due(saved: Sequence[int], known: Collection[int], every_steps: int) -> list[int]:
    """The steps to evaluate by themselves, rising.

    saved: steps of complete checkpoints, rising. known: steps that are evaluated or in the queue.
    A step is due when no evaluated one lies less than every_steps before or behind it.
    """
    chosen: list[int] = []
    around = sorted(known)
    for step in saved:
        if all(abs(step - other) >= every_steps for other in (*around, *chosen[-1:])):
            chosen.append(step)
    return chosen


def is_program(path: str) -> bool:
    """Whether a setting names a program as it must: absolute, without a step upwards."""
    pure = PurePosixPath(path)
    return pure.is_absolute() and ".." not in pure.parts
