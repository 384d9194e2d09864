"""Changes of a training that somebody wanted: they explain a shift, which then pages nobody."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from apps.core.errors import AppError

KINDS = {
    "batch_size": "batch size",
    "sequence_length": "sequence length",
    "data": "data or its mixture",
    "curriculum": "curriculum",
    "learning_rate": "learning rate",
    "warm_up": "warm-up",
    "restart": "restart",
    "other": "something else",
}
"""kind -> words."""
MAX_TEXT_CHARS = 500
MAX_STEP = 2**53
SETTLE_STEPS = 200
"""How far a change without an end reaches: one that lasts explains the shift where it begins, not
what happens long after."""


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """A wanted change. to_step: the last step it explains, None: it lasts, and explains what opens
    within SETTLE_STEPS of its start. source: where it was seen: in a logged series, in the
    configuration, or said by a person."""

    kind: str
    from_step: int
    to_step: int | None
    text: str
    source: Literal["logged", "config", "person"]

    def covers(self, step: int) -> bool:
        """Whether what begins at this step is explained."""
        last = self.from_step + SETTLE_STEPS if self.to_step is None else self.to_step
        return self.from_step <= step <= last

    @property
    def kind_words(self) -> str:
        """The kind as people call it."""
        return KINDS.get(self.kind, self.kind.replace("_", " "))

    @property
    def words(self) -> str:
        """ "batch size from step 4,000 to 4,500: doubled", for a title or a tooltip."""
        end = "" if self.to_step is None else f" to {self.to_step:,}"
        said = f": {self.text}" if self.text else ""
        return f"{self.kind_words} from step {self.from_step:,}{end}{said}"


def explaining(changes: Iterable[PlannedChange], step: int) -> PlannedChange | None:
    """The change that explains what begins at a step: the one that started last; None if none."""
    fitting = [change for change in changes if change.covers(step)]
    return max(fitting, key=lambda change: change.from_step, default=None)


def checked(change: PlannedChange) -> PlannedChange:
    """The change with its text trimmed; AppError names the field at fault."""
    if change.kind not in KINDS:
        raise AppError(
            f'"{change.kind[:40]}" is no kind of change',
            where="kind",
            hint=f"use {', '.join(KINDS)}",
        )
    if not 0 <= change.from_step <= MAX_STEP:
        raise AppError("a step is a whole number from 0 on", where="from_step")
    if change.to_step is not None and not change.from_step <= change.to_step <= MAX_STEP:
        raise AppError(
            "the last step lies before the first", where="to_step", hint="leave it out if it lasts"
        )
    text = change.text.strip()
    if len(text) > MAX_TEXT_CHARS or "\0" in text:
        raise AppError(f"at most {MAX_TEXT_CHARS} characters, without NUL", where="text")
    return PlannedChange(change.kind, change.from_step, change.to_step, text, change.source)
