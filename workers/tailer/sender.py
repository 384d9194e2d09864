"""Sends the spool, oldest batch first, until each is taken or refused for good.

Logs that are told to come later (429) let what is behind them pass."""

from __future__ import annotations

import logging
import random
import threading
import time
from dataclasses import dataclass

from apps.core.errors import AppError
from workers.tailer.config import Limits
from workers.tailer.server import Answer, Server, Verdict
from workers.tailer.spool import Entry, Spool

log = logging.getLogger(__name__)
_random = random.SystemRandom()
MAY_REST = frozenset({"logs", "packed"})
"""Endpoints that rest after a 429, while the others go on: a server whose log store is full still
takes checkpoints and metrics."""


@dataclass(slots=True)
class Sent:
    """Counters since the agent's start; times are Unix nanoseconds, None = never."""

    batches: int = 0
    lines: int = 0
    raw_bytes: int = 0
    body_bytes: int = 0
    retries: int = 0
    last_ns: int | None = None
    error: str = ""


def pause_s(failures: int, answer: Answer, limits: Limits) -> float:
    """How long to wait before the next try.

    The server's Retry-After, else doubling from retry_first_s to retry_longest_s, half of it
    random so that a thousand agents do not come back at the same moment.
    """
    if answer.wait_s is not None:
        return answer.wait_s + _random.uniform(0, limits.retry_first_s)
    longest: float = min(limits.retry_longest_s, limits.retry_first_s * 2 ** min(failures - 1, 20))
    return longest * _random.uniform(0.5, 1)


class Sender:
    """One thread that empties the spool. patient=False: give up when the token is refused or
    after limits.give_up_s without an answer; `failure` then says why."""

    def __init__(self, spool: Spool, server: Server, limits: Limits, *, patient: bool) -> None:
        self.sent = Sent()
        self.failure: AppError | None = None
        self._spool, self._server, self._limits, self._patient = spool, server, limits, patient
        self._stopping = threading.Event()
        self._rests: dict[str, float] = {}
        self._thread = threading.Thread(target=self._run, name="sender", daemon=True)

    def start(self) -> None:
        """Begin to send."""
        self._thread.start()

    def stop(self, timeout_s: float) -> bool:
        """End after the request in progress; False if that takes longer than `timeout_s`.

        What is left stays in the spool, also if the process ends in the middle of a request.
        """
        self._stopping.set()
        self._spool.wake()
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while not self._stopping.is_set() and self.failure is None:
            entry = self._spool.head(0.2, self._resting())
            if entry is not None:
                self._try(entry)

    def _resting(self) -> set[str]:
        """Endpoints whose batches wait now."""
        now = time.monotonic()
        self._rests = {name: until for name, until in self._rests.items() if until > now}
        return set(self._rests)

    def _try(self, entry: Entry) -> None:
        """Deliver it. A state folder that fails now (a full disk) costs a pause: the batch is still
        the head of the spool, and is sent again under its id."""
        try:
            self._deliver(entry)
        except OSError as error:
            self.sent.error = f"{type(error).__name__}: {error}"
            log.error("the spool cannot be kept for now (%s)", self.sent.error)
            self._stopping.wait(self._limits.retry_first_s)

    def _deliver(self, entry: Entry) -> None:
        """Send one batch until it is decided."""
        failures, began = 0, time.monotonic()
        body = entry.body()
        while not self._stopping.is_set():
            answer = self._server.send(entry.url_path, entry.meta.batch_id, body)
            if answer.verdict is not Verdict.LATER:
                self._settle(entry, answer)
                return
            failures += 1
            self.sent.retries += 1
            self.sent.error = f"{answer.status or 'no answer'}: {answer.message}"
            log.warning("batch %s waits (%s)", entry.meta.batch_id, self.sent.error)
            if not self._patient:
                self.failure = gave_up(answer, time.monotonic() - began, self._limits)
            if self.failure is not None:
                return
            pause = pause_s(failures, answer, self._limits)
            if self._patient and answer.status == 429 and entry.meta.endpoint in MAY_REST:
                self._rests[entry.meta.endpoint] = time.monotonic() + pause
                return
            self._stopping.wait(pause)

    def _settle(self, entry: Entry, answer: Answer) -> None:
        meta = entry.meta
        if answer.verdict is Verdict.NEVER:
            self.sent.error = f"{answer.status}: {answer.message}"
            log.error("batch %s is refused for good (%s)", meta.batch_id, self.sent.error)
            reason = {
                "status": answer.status,
                "message": answer.message,
                "endpoint": meta.endpoint,
                "batch_id": meta.batch_id,
            }
            self._spool.bury(entry, reason)
            return
        self.sent.batches += 1
        self.sent.lines += meta.lines
        self.sent.raw_bytes += meta.raw_bytes
        self.sent.body_bytes += meta.body_bytes
        self.sent.last_ns = time.time_ns()
        if not self._rests:
            self.sent.error = ""
        self._spool.done(entry)


def gave_up(answer: Answer, waited_s: float, limits: Limits) -> AppError | None:
    """Why a one-time transfer ends without success, or None to try again."""
    if answer.status in (401, 403):
        return AppError(f"the server refuses the token ({answer.message})", where="--token-file")
    if waited_s > limits.give_up_s:
        return AppError(
            f"no success for {waited_s:.0f} s ({answer.status or 'no answer'}: {answer.message})",
            hint="start it again: it goes on where it was",
            where="--url",
        )
    return None
