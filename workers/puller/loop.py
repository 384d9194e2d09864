"""All runs of a project, round after round; one that cannot be mirrored holds up no other."""

from __future__ import annotations

import logging
import random
import re
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Protocol

from apps.core.errors import AppError
from workers.puller.memory import Memory
from workers.puller.mirror import Mirror, Run
from workers.puller.records import Spot
from workers.puller.target import Stopping, Target

log = logging.getLogger(__name__)
_random = random.SystemRandom()
_KEY: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
BATCHES: Final = 50
"""Of history in one turn: then the next run has its turn."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 5.0, 600.0


@dataclass(frozen=True, slots=True)
class Settings:
    """project: of Lastgood. prefix: before the id of each run. only: ids; (): all. adopt: go on
    with runs that this puller's memory does not know."""

    project: str
    prefix: str = ""
    only: tuple[str, ...] = ()
    poll_s: float = 15.0
    adopt: bool = False


class Runs(Protocol):
    """The source; see source.Source."""

    def runs(self) -> Iterable[Run]: ...
    def name_of(self, run_id: str) -> str: ...


@dataclass(slots=True)
class Trouble:
    """failures in a row, and when (monotonic seconds) the run is tried again."""

    failures: int
    again_s: float


class Puller:
    """Mirrors a project. troubles: run id -> why it waits."""

    def __init__(self, settings: Settings, source: Runs, target: Target, memory: Memory) -> None:
        self._settings, self._source = settings, source
        self._target, self._memory = target, memory
        self.troubles: dict[str, Trouble] = {}

    def run(self, stop: threading.Event, *, once: bool) -> bool:
        """Rounds until told to stop; once: until nothing is left. Whether all is well."""
        failures = 0
        while not stop.is_set():
            try:
                left = self._round(stop)
                failures = 0
            except Stopping:
                break
            except Exception:
                log.exception("the source cannot be listed")
                left, failures = True, failures + 1
            if once and (not left or failures > 3):
                break
            if not left or failures:
                stop.wait(self._pause_s(failures))
        return not (failures or self.troubles)

    def _pause_s(self, failures: int) -> float:
        pause_s: float = min(LONGEST_PAUSE_S, self._settings.poll_s * 2 ** min(failures, 10))
        return pause_s * _random.uniform(0.75, 1.25)

    def _round(self, stop: threading.Event) -> bool:
        """One look at every run; whether some have more to send at once."""
        left = False
        for run in self._source.runs():
            if stop.is_set():
                return False
            trouble = self.troubles.get(run.facts.id)
            wanted = not self._settings.only or run.facts.id in self._settings.only
            if wanted and (trouble is None or trouble.again_s <= time.monotonic()):
                left |= self._turn(run)
        return left

    def _turn(self, run: Run) -> bool:
        """One run's turn; whether it has more. What goes wrong is told and tried again later."""
        key = f"{self._settings.prefix}{run.facts.id}"
        spot = Spot(self._settings.project, key, self._source.name_of(run.facts.id))
        mirror = None
        try:
            if not _KEY.fullmatch(key):
                raise AppError(f'"{key[:140]}" is not a run key', hint="choose a --prefix")
            mirror = Mirror(run, spot, self._target, self._memory, adopt=self._settings.adopt)
            if mirror.is_complete:
                return False
            done = mirror.turn(BATCHES)
            behind = 0 if done else max(1, run.facts.lines - mirror.lines)
            self._target.report(spot, run.facts, mirror.step, behind)
        except Stopping:
            raise
        except Exception as error:
            log.exception("run %s is not mirrored now", run.facts.id)
            self._failed(run, spot, mirror, str(error))
            return False
        self.troubles.pop(run.facts.id, None)
        return not done

    def _failed(self, run: Run, spot: Spot, mirror: Mirror | None, error: str) -> None:
        before = self.troubles.get(run.facts.id)
        failures = before.failures + 1 if before else 1
        pause_s = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2 ** min(failures - 1, 10))
        again_s = time.monotonic() + pause_s * _random.uniform(0.75, 1.25)
        self.troubles[run.facts.id] = Trouble(failures, again_s)
        try:
            if _KEY.fullmatch(spot.key):
                step = mirror.step if mirror else -1
                self._target.report(spot, run.facts, step, None, error)
        except Stopping:
            raise
        except AppError as again:
            log.warning("Lastgood was not told: %s", again)
