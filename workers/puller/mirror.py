"""One run: what the source has more of goes to Lastgood.

Line n of a file is the n-th row of the source, so a line that is sent again is known by its number.
Where to go on is asked from Lastgood, after all that was sent before is written: a kill at any
moment loses and doubles nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final, Protocol

from apps.core.errors import AppError
from workers.puller.memory import Memory
from workers.puller.plan import Plan, Way, kept_anchors, plan
from workers.puller.records import Described, Facts, Held, Mark, Saved, Spot
from workers.puller.target import Target

HISTORY: Final = "wandb-history.jsonl"
EVENTS: Final = "wandb-events.jsonl"
SUMMARY: Final = "wandb-summary.json"
OUTPUT: Final = "output.log"
BATCH_LINES: Final = 1_000
BATCH_BYTES: Final = 2 << 20
NOTHING: Final = Held(0, 0, 0, None, None)
EXIT_CODES: Final = {"finished": 0, "failed": 1, "killed": 255, "preempted": 1}
"""Other ends (crashed) are silences: Lastgood hears nothing more, as the source did."""


class Run(Protocol):
    """A run of the source; see source.SourceRun."""

    facts: Facts

    def described(self) -> Described: ...
    def rows(self, first_step: int) -> Iterator[dict[str, Any]]: ...
    def is_there(self, mark: Mark) -> bool: ...
    def events(self, after: float | None) -> list[dict[str, Any]]: ...
    def console(self, first: int) -> Iterator[tuple[int, str]]: ...
    def console_lines(self) -> int: ...


class Mirror:
    """One run, from the state that memory and target have of it."""

    def __init__(
        self, run: Run, spot: Spot, target: Target, memory: Memory, *, adopt: bool
    ) -> None:
        self._run, self._spot, self._target, self._memory = run, spot, target, memory
        known = memory.load(spot.key)
        self._saved = known or Saved()
        self._foreign = known is None and not adopt
        self.step, self.lines = -1, 0

    @property
    def is_complete(self) -> bool:
        """Whether nothing has changed since all was mirrored."""
        return self._saved.seen == self._run.facts

    def turn(self, most_batches: int) -> bool:
        """Sends what is new, at most so many batches of history; whether that was all."""
        facts, held = self._run.facts, self._target.held(self._spot)
        if held is not None and self._foreign:
            raise AppError(
                "this run is in Lastgood already and was not mirrored from this state folder",
                where=self._spot.key,
                hint="choose a --prefix, or --adopt it if it is a mirror of the same run",
            )
        found = plan(facts, held, self._saved, self._run.is_there)
        said = self._run.described()
        held = self._begun(found, held or NOTHING, said)
        if not self._send_history(found.first_step, held, most_batches):
            return False
        self._send_events(held)
        self._send_console(held)
        self._end(said)
        return True

    def _begun(self, found: Plan, held: Held, said: Described) -> Held:
        """Opens an attempt if the plan says so; what Lastgood holds of the attempt then."""
        saved, source = self._saved, self._spot.source
        self.step = held.newest.step if held.newest else found.first_step - 1
        if found.way is Way.CONTINUE:
            self._target.describe(self._spot, said)
            self._remember()
            return held
        saved.ended = False
        if found.way is Way.RESUME:
            self._target.begin(self._spot, said, source, held.told)
            self._remember()
            return held
        saved.generation += 1
        saved.from_step = found.first_step
        saved.anchors = kept_anchors(saved.anchors, found.first_step)
        base = saved.output_base + held.output if found.way is Way.BACK else 0
        # A console that is shorter now is another one.
        saved.output_base = base if base <= self._run.console_lines() else 0
        self._remember()
        name = f"{source} #{saved.generation}"
        self._target.begin(self._spot, said, name, None)
        return NOTHING

    def _send_history(self, first_step: int, held: Held, most_batches: int) -> bool:
        line = held.history
        for number, rows in enumerate(_batches(self._run.rows(first_step))):
            if number == most_batches:
                return False
            lines = [text for _, text in rows]
            self._target.send(self._spot, {HISTORY: (line, lines)})
            line = self.lines = line + len(lines)
            newest, _ = rows[-1]
            self.step = int(newest["_step"])
            self._saved.note(Mark(line - 1, self.step, newest.get("_timestamp")))
            self._remember()
        return True

    def _send_events(self, held: Held) -> None:
        line = held.events
        for rows in _batches(self._run.events(held.events_stamp)):
            self._target.send(self._spot, {EVENTS: (line, [text for _, text in rows])})
            line += len(rows)

    def _send_console(self, held: Held) -> None:
        base = self._saved.output_base
        lines: list[str] = []
        first = held.output
        for number, text in self._run.console(base + held.output):
            lines.append(text)
            if len(lines) == BATCH_LINES:
                self._target.send(self._spot, {OUTPUT: (first, lines)})
                first, lines = number - base + 1, []
        if lines:
            self._target.send(self._spot, {OUTPUT: (first, lines)})

    def _end(self, said: Described) -> None:
        """The summary as it is now, and the end if the run has ended. Unchanged: a heartbeat."""
        facts, saved = self._run.facts, self._saved
        summary = {SUMMARY: (0, [json.dumps(said.summary)])} if said.summary else {}
        code = EXIT_CODES.get(facts.state)
        ends = {} if facts.runs or code is None else {"complete": True, "exitcode": code}
        self._target.send(self._spot, summary, **ends)
        saved.ended, saved.seen = bool(ends), facts
        self._remember()

    def _remember(self) -> None:
        self._memory.save(self._spot.key, self._saved)


def _batches(rows: Iterable[dict[str, Any]]) -> Iterator[list[tuple[dict[str, Any], str]]]:
    """Rows with their lines, as many at a time as one body takes."""
    batch, size = list[tuple[dict[str, Any], str]](), 0
    for row in rows:
        text = json.dumps(row)
        if batch and (len(batch) == BATCH_LINES or size + len(text) > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append((row, text))
        size += len(text)
    if batch:
        yield batch
