"""What the source says of a run, what Lastgood holds of it, and what is remembered between."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

RUNNING: Final = frozenset({"running", "pending", "preempting"})
MAX_ANCHORS: Final = 2_000


class Spot(msgspec.Struct, frozen=True):
    """A run of Lastgood that mirrors one. source: the address of that, in words."""

    project: str
    key: str
    source: str


class Facts(msgspec.Struct, frozen=True):
    """The light part of a run, as a listing of the source shows it."""

    id: str
    state: str
    heartbeat: str
    lines: int

    @property
    def runs(self) -> bool:
        """Whether more is to be expected."""
        return self.state in RUNNING


class Described(msgspec.Struct, frozen=True):
    """What is said of a run beside its history. config: {name: {"value": …}}."""

    name: str | None
    tags: Sequence[str]
    notes: str | None
    group: str | None
    job_type: str | None
    config: Mapping[str, Any]
    summary: Mapping[str, Any]


class Mark(msgspec.Struct, frozen=True):
    """A row of history by which it is recognised: its line, its step, its time in seconds."""

    line: int
    step: int
    stamp: float | None


class Held(msgspec.Struct, frozen=True):
    """How many lines of each file Lastgood holds of the attempt that is written now; newest: the
    last line of history, None if there is none. events_stamp: time of the last one. told: the id
    under which a process that goes on from there begins."""

    history: int
    events: int
    output: int
    newest: Mark | None
    events_stamp: float | None
    told: str = ""


class Saved(msgspec.Struct):
    """What the puller remembers of a run, on disk.

    generation: how often its history began anew. from_step: the first step of this generation.
    output_base: number of the console line that is line 0 of this generation. ended: its end was
    told. anchors: rows of the history, evenly spread, by which a common past is found again.
    seen: the facts that were mirrored completely.
    """

    generation: int = 0
    from_step: int = 0
    output_base: int = 0
    ended: bool = False
    anchors: list[Mark] = msgspec.field(default_factory=list)
    seen: Facts | None = None

    def note(self, mark: Mark) -> None:
        """Remembers a row; beyond MAX_ANCHORS every second one is forgotten."""
        self.anchors.append(mark)
        if len(self.anchors) > MAX_ANCHORS:
            del self.anchors[1::2]
