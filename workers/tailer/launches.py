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


@dataclass(frozen=True, slots=True)
class Launch:
    """One start. slot: what runs once per attempt. name: stable id of this start in its slot."""

    slot: str
    name: str
    started_ns: int
    attempt: int


class LaunchBook:
    """Attempt numbers of all starts this agent has seen.

    The server decides which attempt a start belongs to; asking again gives the same number.
    """

    def __init__(self, config: AgentConfig, server: Server) -> None:
        self.error = ""
        self._config, self._server = config, server
        self._file = config.state_dir / "launches.json"
        self._known = {(launch.slot, launch.name): launch for launch in self._load()}
        self._failures = 0
        self._next_try_s = 0.0
        self._first_failure_s = 0.0

    def find(
        self,
        slot: str,
        name: str,
        started: Callable[[], int | None],
        resume_step: int | None = None,
    ) -> Launch | None:
        """The start with its attempt number; None while it is unknown (no time yet, no server).

        started: its time in Unix ns as the data say it, None if they do not say it yet.
        resume_step: the step it says that it goes on from.
        """
        known = self._known.get((slot, name))
        if known is not None or time.monotonic() < self._next_try_s:
            return known
        started_ns = started()
        if started_ns is None:
            return None
        step = self._config.resume_step if resume_step is None else resume_step
        return self._register(slot, name, started_ns, step)

    def newest(self, slot_prefix: str = "", before_ns: int | None = None) -> Launch | None:
        """The latest known start, of slots with that prefix, at or before a time."""
        fitting = [
            launch
            for launch in self._known.values()
            if launch.slot.startswith(slot_prefix)
            and (before_ns is None or launch.started_ns <= before_ns)
        ]
        return max(fitting, key=lambda launch: (launch.started_ns, launch.attempt), default=None)

    def _register(
        self, slot: str, name: str, started_ns: int, resume_step: int | None
    ) -> Launch | None:
        started_ns += self._config.time_shift_ns
        answer = self._server.register(
            self._config.run,
            {
                "slot": slot,
                "launch": name,
                "started_ns": started_ns,
                "node": self._config.node,
                "resume_step": resume_step,
            },
        )
        attempt = (answer.body or {}).get("attempt")
        if answer.verdict is not Verdict.TAKEN or not isinstance(attempt, int):
            self._failed(answer)
            return None
        self._failures, self._next_try_s, self.error = 0, 0.0, ""
        launch = Launch(slot, name, started_ns, attempt)
        self._known[slot, name] = launch
        durable.write(self._file, msgspec.json.encode(list(self._known.values())))
        log.info("%s is attempt %d of %s", name, attempt, self._config.run)
        return launch

    def _failed(self, answer: Answer) -> None:
        now = time.monotonic()
        self._first_failure_s = self._first_failure_s if self._failures else now
        self._failures += 1
        self.error = f"launch not registered ({answer.status or 'no answer'}: {answer.message})"
        log.warning(self.error)
        if self._config.once:
            if answer.verdict is Verdict.NEVER:
                raise AppError(self.error, where=f"run {self._config.run}")
            failure = gave_up(answer, now - self._first_failure_s, self._config.limits)
            if failure is not None:
                raise failure
        self._next_try_s = now + pause_s(self._failures, answer, self._config.limits)

    def _load(self) -> list[Launch]:
        if not self._file.exists():
            return []
        return msgspec.json.decode(self._file.read_bytes(), type=list[Launch])
