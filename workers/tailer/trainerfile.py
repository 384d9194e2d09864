"""`trainer_state.json` of Hugging Face's Trainer: rewritten whole with each checkpoint."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from workers.cli.branching import MARKER
from workers.tailer.config import AgentConfig
from workers.tailer.followed import FollowedFile, Place
from workers.tailer.rewritten import chain, known_rows, with_mark
from workers.tailer.rowfile import changed_ns
from workers.tailer.taken import Begin, Taken, part_of

NAME = "trainer_state.json"
MAX_FILES = 10_000
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _State:
    """One version of the file. rows: JSON texts. digests: behind each row, one more than rows."""

    path: Path
    identity: tuple[int, int, int]
    modified_ns: int
    rows: list[bytes]
    digests: list[str]


class TrainerState:
    """A Taker of one Trainer. given: the file, or the output folder; there the newest of
    `trainer_state.json` and `checkpoint-*/trainer_state.json` counts.

    In the branch directory of a rollback the linked checkpoint is of another attempt: it is not
    told again, nor are its rows, which each later file repeats.
    """

    def __init__(self, given: Path, place: Place | None, config: AgentConfig) -> None:
        self.file = FollowedFile(given, place)
        self.refused = ""
        self.problems: set[str] = set()
        self.events: list[dict[str, Any]] = []
        self._config = config
        self._state: _State | None = None
        self._done: tuple[int, int, int] | None = None
        self._first = not self.file.place.inode

    def pending(self) -> int:
        """The size of a version that was not handed over yet."""
        newest = self._newest()
        if newest is None:
            return 0
        now = newest.stat()
        return 0 if _identity(now) == self._done else now.st_size

    def begin(self, *, final: bool) -> Begin | None:
        """Nobody says; the first version is not older than its first checkpoint."""
        newest = self._newest()
        if newest is None:
            return None
        modified_ns = newest.stat().st_mtime_ns
        return Begin(changed_ns(self._config, modified_ns), branch_step(self.file.path))

    def take(self, budget_bytes: int, *, final: bool) -> Taken | None:
        """New rows of the newest version. One that is being written is left for later."""
        state = self._load(final=final)
        if state is None:
            return None
        place = self.file.place
        known = known_rows(place, state.digests)
        if known.rows == len(state.rows):
            self._finish(state, place if known.again else with_mark(place))
            return None
        if known.again or not place.inode:
            place = self._new_life(place, state, known.rows)
        rows, size = list[bytes](), 0
        for row in state.rows[known.rows :]:
            if size and size + len(row) > budget_bytes:
                break
            rows.append(row)
            size += len(row)
        end = known.rows + len(rows)
        self.file.place = replace(place, records=end, head=state.digests[end])
        header = {
            "format": "trainer_state",
            "seen_ns": state.modified_ns,
            "live": not self._config.once,
        }
        if place.begins:
            header["begins"] = place.begins
        return Taken(part_of(place.generation, state.rows[0]), known.rows, rows, header)

    def _new_life(self, place: Place, state: _State, rows: int) -> Place:
        generation = place.generation + 1 if place.inode else 0
        log.info("%s: life %d begins behind row %d", self.file.path, generation, rows)
        kept = replace(place, records=rows, head=state.digests[rows], begins=rows)
        return replace(kept, inode=state.identity[0], generation=generation)

    def _finish(self, state: _State, place: Place) -> None:
        self.file.place = place
        self._done, self._state = state.identity, None
        # Of checkpoints that lie there from before nobody else tells; later only the newest is new.
        paths = sorted(self._versions()) if self._first else [state.path]
        self._first = False
        for path in paths:
            event = checkpoint_event(path, changed_ns(self._config, path.stat().st_mtime_ns))
            if event is not None:
                self.events.append(event)

    def _newest(self) -> Path | None:
        found = [(path.stat().st_mtime_ns, str(path)) for path in self._versions()]
        return Path(max(found)[1]) if found else None

    def _versions(self) -> Iterator[Path]:
        given = self.file.path
        saved = (path for path in given.glob("checkpoint-*") if not path.is_symlink())
        candidates = [given, given / NAME, *(path / NAME for path in saved)]
        return (path for path in candidates if path.is_file())

    def _load(self, *, final: bool) -> _State | None:
        newest = self._newest()
        if newest is None:
            return None
        now = newest.stat()
        if _identity(now) == self._done:
            return None
        if self._state is None or self._state.identity != _identity(now):
            self._state = self._parse(newest, now, final=final)
        return self._state

    def _parse(self, path: Path, now: os.stat_result, *, final: bool) -> _State | None:
        try:
            found = json.loads(path.read_bytes())
            past = branch_step(self.file.path)
            history = [
                row
                for row in found["log_history"]
                if isinstance(row, dict) and not _is_past(row, past)
            ]
        except (ValueError, RecursionError, KeyError, TypeError) as error:
            if final:
                self.refused = f"not a {NAME}: {type(error).__name__}: {error}"
            return None
        texts = [json.dumps(row, sort_keys=True) for row in history]
        rows = [f"{text}\n".encode() for text in texts]
        modified_ns = changed_ns(self._config, now.st_mtime_ns)
        return _State(path, _identity(now), modified_ns, rows, chain(texts))


def branch_step(folder: Path) -> int | None:
    """The step at which the branch of a rollback begins; None in any other folder."""
    try:
        found = json.loads((folder / MARKER).read_bytes()).get("step")
    except (OSError, ValueError, AttributeError):
        return None
    return found if isinstance(found, int) else None


def _is_past(row: dict[str, Any], branch: int | None) -> bool:
    step = row.get("step")
    return branch is not None and isinstance(step, int) and step <= branch


def _identity(now: os.stat_result) -> tuple[int, int, int]:
    return now.st_ino, now.st_size, now.st_mtime_ns


def checkpoint_event(path: Path, modified_ns: int) -> dict[str, Any] | None:
    """The checkpoint whose Trainer wrote `path` last; None for a file outside of one."""
    _, dash, step = path.parent.name.rpartition("checkpoint-")
    if not dash or not step.isdecimal():
        return None
    folder = path.parent
    files = {
        str(file.relative_to(folder)): file.stat().st_size
        for file in sorted(folder.rglob("*"))[:MAX_FILES]
        if file.is_file()
    }
    return {"ts": modified_ns / 1e9, "step": int(step), "path": str(folder), "files": files}
