"""Starts of the training: found in the files, registered with the server, remembered on disk."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from apps.core.errors import AppError
from workers.tailer import durable
from workers.tailer.config import AgentConfig
from workers.tailer.sender import gave_up, pause_s
from workers.tailer.server import Answer, Server, Verdict

log = logging.getLogger(__name__)
LONELY_S = 60.0
"""So long after it fell silent, or was found, a file without a start beside it is one of its own: a
console whose launcher failed, metrics that nobody else speaks of."""
REFUSED_S = 300.0
"""When a start is announced again that the server does not take."""


@dataclass(frozen=True, slots=True)
class Start:
    """One start of a run. slot: what runs once per attempt. name: stable id of it in its slot.

    unless_live: it is not to be registered if the server receives the run from its process.
    resume_step: the step it says that it goes on from. node: if it is not the agent's own.
    """

    run: str
    slot: str
    name: str
    unless_live: bool = False
    resume_step: int | None = None
    node: str = ""


@dataclass(frozen=True, slots=True)
class Launch:
    """A registered start. attempt: None if the server receives the run from its process. reader: of
    the server (apps/logs/domain/parcel/reader.py), 0 if it takes no parcels."""

    slot: str
    name: str
    started_ns: int
    attempt: int | None
    run: str = ""
    reader: int = 0


class LaunchBook:
    """Attempt numbers of all starts this agent has seen.

    The server decides which attempt a start belongs to; asking again gives the same number.
    """

    def __init__(self, config: AgentConfig, server: Server) -> None:
        self.error = ""
        self._config, self._server = config, server
        self._file = config.state_dir / "launches.jsonl"
        self._known = {
            (launch.run or config.run, launch.slot, launch.name): launch for launch in self._load()
        }
        self._refused: dict[Start, float] = {}
        self._failures = 0
        self._next_try_s = 0.0
        self._first_failure_s = 0.0

    def find(self, start: Start, started: Callable[[], int | None]) -> Launch | None:
        """The start with its attempt number; None while it is unknown (no time yet, no server).

        started: its time in Unix ns as the data say it, None if they do not say it yet.
        """
        known = self._known.get((start.run, start.slot, start.name))
        again_s = max(self._next_try_s, self._refused.get(start, 0.0))
        if known is not None or time.monotonic() < again_s:
            return known
        started_ns = started()
        return None if started_ns is None else self._register(start, started_ns)

    def newest(
        self, slot_prefix: str = "", before_ns: int | None = None, run: str = ""
    ) -> Launch | None:
        """The latest known start, of slots with that prefix, at or before a time. run: of that run
        alone."""
        fitting = [
            launch
            for (key, _, _), launch in self._known.items()
            if launch.attempt is not None
            and launch.slot.startswith(slot_prefix)
            and run in ("", key)
            and (before_ns is None or launch.started_ns <= before_ns)
        ]
        return max(
            fitting, key=lambda launch: (launch.started_ns, launch.attempt or 0), default=None
        )

    def knows(self, start: Start) -> bool:
        """Whether a start is registered."""
        return (start.run, start.slot, start.name) in self._known

    def slot_of(self, name: str) -> str | None:
        """The slot of a known start; None if it is not known."""
        slots = (launch.slot for launch in self._known.values() if launch.name == name)
        return next(slots, None)

    def at(self, time_ns: int) -> Launch | None:
        """The start that ran at a time: the latest that had begun by then, else the latest of all
        (clocks differ)."""
        return self.newest(before_ns=time_ns) or self.newest()

    def _register(self, start: Start, started_ns: int) -> Launch | None:
        started_ns += self._config.time_shift_ns
        answer = self._server.register(
            start.run,
            {
                "slot": start.slot,
                "launch": start.name,
                "started_ns": started_ns,
                "node": start.node or self._config.node,
                "resume_step": self._config.resume_step
                if start.resume_step is None
                else start.resume_step,
                **({"unless_live": True} if start.unless_live else {}),
            },
        )
        said = answer.body or {}
        attempt = said.get("attempt")
        live = said.get("live") is True
        if answer.verdict is not Verdict.TAKEN or not (live or isinstance(attempt, int)):
            self._failed(answer, start)
            return None
        self._failures, self._next_try_s, self.error = 0, 0.0, ""
        number = attempt if isinstance(attempt, int) else None
        reader = said.get("reader")
        reader = reader if isinstance(reader, int) else 0
        launch = Launch(start.slot, start.name, started_ns, number, start.run, reader)
        self._known[start.run, start.slot, start.name] = launch
        durable.append(self._file, msgspec.json.encode(launch))
        what = "received live, not sent again" if number is None else f"attempt {number}"
        log.info("%s of run %s: %s", start.name, start.run, what)
        return launch

    def _failed(self, answer: Answer, start: Start) -> None:
        now = time.monotonic()
        self._first_failure_s = self._first_failure_s if self._failures else now
        self._failures += 1
        self.error = f"launch not registered ({answer.status or 'no answer'}: {answer.message})"
        log.warning(self.error)
        if self._config.once:
            if answer.verdict is Verdict.NEVER:
                raise AppError(self.error, where=f"run {start.run}")
            failure = gave_up(answer, now - self._first_failure_s, self._config.limits)
            if failure is not None:
                raise failure
        if answer.verdict is Verdict.NEVER:
            # Nothing about this start will change soon, and others must not wait for it.
            self._refused[start] = now + REFUSED_S
            return
        self._next_try_s = now + pause_s(self._failures, answer, self._config.limits)

    def _load(self) -> list[Launch]:
        old = self._file.with_suffix(".json")
        found = msgspec.json.decode(old.read_bytes(), type=list[Launch]) if old.exists() else []
        lines = durable.whole_lines(self._file)
        return [*found, *(msgspec.json.decode(line, type=Launch) for line in lines)]
