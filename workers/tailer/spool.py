"""Batches on disk from the moment they are read until the server has them.

A batch file holds the body and the places its files have reached, so one rename makes both
durable at once: after a kill the agent sends the same bytes under the same id and reads on
behind them. Batches leave in their order, but those of an endpoint that rests may stay behind.
`places.jsonl` holds the places of batches that have left the spool, a line a batch; it is written
before their files are removed. So the place of a file is the newest in the spool, else that one.
`places.json` has what was in earlier lines.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import msgspec

from apps.core.errors import AppError
from workers.tailer import durable
from workers.tailer.followed import Place
from workers.tailer.frames import Batch

VERSION = 1
LINES_BYTES = 1 << 20
"""Then places.jsonl is taken over into places.json, and begins anew."""


class _Meta(msgspec.Struct, frozen=True):
    version: int
    number: int
    run: str
    endpoint: str
    batch_id: str
    raw_bytes: int
    lines: int
    body_bytes: int
    places: dict[str, Place]
    query: str = ""


class _Places(msgspec.Struct, frozen=True):
    """lowest: every batch with a lower number has left; None: written by an agent whose batches all
    left in order."""

    version: int
    next_number: int
    places: dict[str, Place]
    lowest: int | None = None

    @property
    def left_below(self) -> int:
        """Batches with a lower number have left."""
        return self.next_number if self.lowest is None else self.lowest


@dataclass(frozen=True, slots=True)
class Entry:
    """One batch in the spool."""

    path: Path
    meta: _Meta

    @property
    def url_path(self) -> str:
        """Where it goes."""
        query = f"?{self.meta.query}" if self.meta.query else ""
        return f"/api/v1/runs/{quote(self.meta.run, safe='')}/{self.meta.endpoint}{query}"

    def body(self) -> bytes:
        """The compressed body, read from disk."""
        return self.path.read_bytes().split(b"\n", 1)[1]


class Spool:
    """The batches of one state folder, oldest first. Safe for one writer and one sender thread."""

    def __init__(self, folder: Path) -> None:
        self._waiting_dir, self._dead_dir = folder / "spool", folder / "dead"
        self._places_file = folder / "places.json"
        self._lines_file = folder / "places.jsonl"
        for path in (self._waiting_dir, self._dead_dir):
            path.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._changed = threading.Condition()
        self._left = _read_places(self._places_file, self._lines_file)
        self._entries = deque(self._load())
        self._bytes = sum(entry.meta.body_bytes for entry in self._entries)
        self._next = max(
            [self._left.next_number, *(entry.meta.number + 1 for entry in self._entries)]
        )

    def places(self) -> dict[str, Place]:
        """Path -> how far that file has been handed over."""
        merged = dict(self._left.places)
        for entry in self._entries:
            merged.update(entry.meta.places)
        return merged

    def add(self, batch: Batch) -> None:
        """Keep a batch durably; it may be sent from now on."""
        meta = _Meta(
            version=VERSION,
            number=self._next,
            run=batch.run,
            endpoint=batch.endpoint,
            batch_id=batch.batch_id,
            raw_bytes=batch.raw_bytes,
            lines=batch.lines,
            body_bytes=len(batch.body),
            places=dict(batch.places),
            query=batch.query,
        )
        path = self._waiting_dir / f"{self._next:012d}.batch"
        durable.write(path, msgspec.json.encode(meta) + b"\n" + batch.body)
        with self._changed:
            self._next += 1
            self._bytes += meta.body_bytes
            self._entries.append(Entry(path, meta))
            self._changed.notify_all()

    def head(self, timeout_s: float, skip: Collection[str] = ()) -> Entry | None:
        """The oldest batch of an endpoint that is not skipped; waits for one up to `timeout_s`."""
        with self._changed:
            found = self._first(skip)
            if found is None:
                self._changed.wait(timeout_s)
                found = self._first(skip)
            return found

    def _first(self, skip: Collection[str]) -> Entry | None:
        return next((entry for entry in self._entries if entry.meta.endpoint not in skip), None)

    def wake(self) -> None:
        """End a wait in head()."""
        with self._changed:
            self._changed.notify_all()

    def done(self, entry: Entry) -> None:
        """The server has it: remember its places, then remove it."""
        self._leave(entry)
        entry.path.unlink()
        self._drop(entry)

    def bury(self, entry: Entry, reason: Mapping[str, object]) -> None:
        """The server will never take it: move it aside with what the server said."""
        target = self._dead_dir / entry.path.name
        durable.write(target.with_suffix(".json"), msgspec.json.encode(dict(reason)))
        durable.write(target, entry.path.read_bytes())
        self.done(entry)

    def size(self) -> tuple[int, int]:
        """Batches waiting, and their bytes on disk."""
        with self._changed:
            return len(self._entries), self._bytes

    def dead(self) -> int:
        """Batches the server refused for good."""
        return sum(1 for _ in self._dead_dir.glob("*.batch"))

    def _leave(self, entry: Entry) -> None:
        number = entry.meta.number + 1
        with self._changed:
            others = (other.meta.number for other in self._entries if other is not entry)
            lowest = next(others, number)
        following = max(self._left.next_number, number)
        line = _Places(VERSION, following, entry.meta.places, lowest)
        durable.append(self._lines_file, msgspec.json.encode(line))
        self._left = _Places(VERSION, following, self._left.places | line.places, lowest)
        if self._lines_file.stat().st_size > LINES_BYTES:
            self._merge_lines()

    def _merge_lines(self) -> None:
        durable.write(self._places_file, msgspec.json.encode(self._left))
        self._lines_file.unlink(missing_ok=True)

    def _drop(self, entry: Entry) -> None:
        with self._changed:
            self._entries.remove(entry)
            self._bytes -= entry.meta.body_bytes
            self._changed.notify_all()

    def _load(self) -> list[Entry]:
        """What an earlier agent left; batches that are in places.json have been taken already."""
        entries = []
        for path in sorted(self._waiting_dir.glob("*.batch")):
            entry = Entry(path, _read_meta(path))
            if entry.meta.number < self._left.left_below:
                path.unlink()
            else:
                entries.append(entry)
        return entries


def _read_meta(path: Path) -> _Meta:
    with path.open("rb") as file:
        line = file.readline()
    try:
        return msgspec.json.decode(line, type=_Meta)
    except msgspec.DecodeError as error:
        raise AppError(
            f"is not a batch of this agent ({error})",
            where=str(path),
            hint="move it out of the folder and start the agent again",
        ) from error


def _read_places(path: Path, lines_path: Path) -> _Places:
    left = _Places(VERSION, 0, {})
    try:
        whole = [path.read_bytes()] if path.exists() else []
        for line in (*whole, *durable.whole_lines(lines_path)):
            said = msgspec.json.decode(line, type=_Places)
            left.places.update(said.places)
            following = max(left.next_number, said.next_number)
            lowest = max(left.left_below, said.left_below)
            left = _Places(VERSION, following, left.places, lowest)
        return left
    except msgspec.DecodeError as error:
        raise AppError(
            f"cannot be read ({error})",
            where=str(path),
            hint="choose another --state folder; everything is then sent once more",
        ) from error
