"""What log lines and programs say of checkpoints, in the transaction that stores their body."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from apps.checkpoints import saying
from apps.checkpoints.domain.spoken import HINTS, Said, Speech, once, said
from apps.logs.domain.reading.segments import ParsedSegment
from apps.logs.domain.reading.texts import holding
from apps.rollbacks import loads_store
from apps.rollbacks.domain.arrival import Loaded

MAX_LINES = 2_000
MAX_SAID = 500
"""Of one batch that are looked at: a job that prints more about checkpoints says it again."""


@dataclass(slots=True)
class SpokenOf:
    """What lines of several batches say of checkpoints. left_out: lines, and what they say, beyond
    the bounds of a batch."""

    speeches: list[Said] = field(default_factory=list)
    left_out: int = 0

    def hear(self, parsed: Sequence[ParsedSegment]) -> None:
        """The lines of a batch. Those without a hint cost a look at their shapes."""
        lines = sorted(_lines(parsed))
        speeches = said(lines[:MAX_LINES])
        self.speeches += speeches[:MAX_SAID]
        self.left_out += max(0, len(lines) - MAX_LINES) + max(0, len(speeches) - MAX_SAID)

    def add(self, run_id: int, attempt: int) -> Counter[str]:
        """Registers the checkpoints; counted by kind, also what was left out."""
        speeches = once(sorted(self.speeches, key=lambda one: one.at_ns))
        counts = take(run_id, attempt, speeches, source="log")
        if self.left_out:
            counts["checkpoint_lines_left_out"] += self.left_out
        return counts


def add_said(run_id: int, attempt: int, parsed: Sequence[ParsedSegment]) -> Counter[str]:
    """Registers the checkpoints that lines of one batch speak of."""
    spoken = SpokenOf()
    spoken.hear(parsed)
    return spoken.add(run_id, attempt)


def take(run_id: int, attempt: int, speeches: Sequence[Said], *, source: str) -> Counter[str]:
    """Registers what was said, and keeps what was loaded for the checks of the start."""
    loads_store.add(run_id, attempt, _loads(speeches))
    return saying.say(run_id, attempt, speeches, source=source)


def _loads(speeches: Sequence[Said]) -> Iterator[Loaded]:
    """What is loaded, where a line says which checkpoint."""
    for one in speeches:
        if one.speech in (Speech.LOADING, Speech.RESTORED) and (one.path or one.step is not None):
            yield Loaded(one.step, one.path)


def _lines(parsed: Sequence[ParsedSegment]) -> Iterator[tuple[int, str]]:
    for segment in parsed:
        last = len(segment.lines) - segment.meta.partial
        numbers = [number for number in holding(segment.lines, HINTS) if number < last]
        times = [int(segment.lines.time_ns[number]) for number in numbers]
        yield from zip(times, segment.lines.messages(numbers), strict=True)
