"""What every launcher can do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from apps.rollbacks.domain.handover import Effect, Errand, Facts, Look, Outcome


@dataclass(frozen=True, slots=True)
class Made:
    """One call to the other side. said: a command or "PUT /path", without secrets."""

    said: str
    answer: str
    took_ms: int


Note = Callable[[Made], None]
"""Keeps a call for people to read."""


class Launcher(Protocol):
    """Starts a run's job from an order's checkpoint, step by step."""

    def plan(self, errand: Errand) -> tuple[Effect, ...]:
        """Every step in its order, in words. Asks nobody."""
        ...

    def before(self, key: str, errand: Errand) -> Facts:
        """What a later look-up has to know from before the step, such as a count of restarts."""
        ...

    def start(self, key: str, errand: Errand) -> Outcome:
        """Does a step. Never raises for what the other side says."""
        ...

    def look(self, key: str, errand: Errand, before: Facts) -> Look:
        """Whether a step that was begun has happened. For one that may be repeated: Seen.NO."""
        ...

    def launch(self, errand: Errand) -> str:
        """The stable name of the start, from what the steps found out: "slurm-78"."""
        ...
