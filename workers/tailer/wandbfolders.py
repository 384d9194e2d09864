"""Run folders of W&B below a shared folder: found as they appear, left alone once they have ended.

A shared folder may hold thousands of old runs. Looking again costs a few `stat` calls as long as
no folder is added, and a file that is sent and silent is no longer opened.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from workers.tailer.followed import Place
from workers.tailer.wandbfile import WandbFile

REST_S = 600.0
"""A file that is read to its end and has not changed for so long rests."""
OLD_AT_ONCE = 16
"""Files that have been silent for REST_S are taken up so many at a time: live ones come first."""
LOOKS = 100
"""Resting files, waiting ones, and folders without a file, that are looked at in one round."""
_SETTLED_NS = 2_000_000_000
"""A folder that changed this shortly before it was listed is listed again: clocks are coarse."""


@dataclass(slots=True)
class WandbStream:
    """One `.wandb` file, one start of a run. elsewhere: its process may send the run itself.

    waiting_s: when data was first seen. size: of the file when it was laid to rest.
    """

    slot: str
    run: str
    name: str
    file: WandbFile
    elsewhere: bool
    waiting_s: float | None = None
    size: int = -1


class WandbFiles:
    """The `.wandb` files at or below some paths. active: those to read now, oldest first.

    run: key of the run they all belong to; "" takes the W&B run id of each file. Of a file that
    waits it is known when it had last changed, as it was seen in turn.
    """

    def __init__(self, given: tuple[Path, ...], run: str, places: Mapping[str, Place]) -> None:
        self.active: dict[Path, WandbStream] = {}
        self._given, self._run, self._places = given, run, places
        self._folders = _Folders()
        self._known: set[Path] = set()
        self._waiting: dict[Path, float] = {}
        self._resting: deque[WandbStream] = deque()

    @property
    def resting(self) -> int:
        """How many files are sent and silent."""
        return len(self._resting)

    @property
    def waiting(self) -> int:
        """How many old files wait for their turn."""
        return len(self._waiting)

    def live(self) -> int:
        """How many files are not sent because the server receives their runs from the processes."""
        return sum(stream.file.elsewhere for stream in (*self.active.values(), *self._resting))

    def look(self) -> None:
        """Take up what is new or has grown, lay down what has ended."""
        self._rest()
        self._wake()
        for path in self._found():
            if path not in self._known:
                self._known.add(path)
                self._waiting[path] = _changed_s(path)
        self._take_up()

    def _found(self) -> Iterator[Path]:
        for given in self._given:
            if given.is_file():
                yield given
            else:
                yield from self._folders.files(given)

    def _take_up(self) -> None:
        """Files that grow at once, with the older ones of their run before them; few old ones."""
        for path in list(islice(self._waiting, LOOKS)):
            del self._waiting[path]
            self._waiting[path] = _changed_s(path)
        now_s = time.time()
        fresh = {
            run_id(path) for path, changed_s in self._waiting.items() if now_s - changed_s < REST_S
        }
        room = OLD_AT_ONCE - len(self.active)
        for path in sorted(self._waiting, key=_by_start) if fresh or room > 0 else ():
            if run_id(path) in fresh or room > 0:
                room -= run_id(path) not in fresh
                self.active[path] = self._stream(path)
                del self._waiting[path]

    def _stream(self, path: Path) -> WandbStream:
        sent_itself = (
            path.parent.name.startswith("run-") or path.with_name(f"{path.name}.synced").exists()
        )
        return WandbStream(
            slot="wandb",
            run=self._run or run_id(path),
            name=f"{path.parent.name}/{path.name}",
            file=WandbFile(path, self._places.get(str(path))),
            elsewhere=sent_itself and path not in self._given,
        )

    def _rest(self) -> None:
        now_s = time.time()
        for path, stream in list(self.active.items()):
            size, changed_s = _size_and_change(path)
            if now_s - changed_s >= REST_S and stream.file.is_through(size):
                stream.file.file.close()
                stream.size = size
                self._resting.append(self.active.pop(path))

    def _wake(self) -> None:
        for _ in range(min(LOOKS, len(self._resting))):
            stream = self._resting.popleft()
            if _size_and_change(stream.file.file.path)[0] == stream.size:
                self._resting.append(stream)
            else:
                self.active[stream.file.file.path] = stream


def run_id(path: Path) -> str:
    """The W&B run id, which is in the name of the file: `run-<id>.wandb`."""
    return path.name.removeprefix("run-").removesuffix(".wandb")


def _by_start(path: Path) -> tuple[str, str]:
    """Folders are named by their start: `offline-run-20261129_193852-<id>`."""
    return path.parent.name.removeprefix("offline-"), str(path)


def _size_and_change(path: Path) -> tuple[int, float]:
    """Bytes and time of the last change; what is gone has no bytes and is old."""
    try:
        found = path.stat()
    except OSError:
        return 0, 0.0
    return found.st_size, found.st_mtime


def _changed_s(path: Path) -> float:
    return _size_and_change(path)[1]


class _Folders:
    """Lists folders again only when they have changed."""

    def __init__(self) -> None:
        self._listed: dict[Path, tuple[int, int]] = {}
        self._inside: dict[Path, list[Path]] = {}
        self._empty: deque[Path] = deque()

    def files(self, given: Path) -> Iterator[Path]:
        """Files that are new in `given`, `given/wandb`, `given/*/wandb` or a folder in these."""
        yield from self._look(given)
        for inside in (given, *self._inside.get(given, ())):
            yield from self._look(inside / "wandb")
        yield from self._late()

    def _look(self, folder: Path) -> Iterator[Path]:
        if not self._changed(folder):
            return
        known = set(self._inside.get(folder, ()))
        folders = []
        for entry in _entries(folder):
            if _is_wandb(entry):
                yield Path(entry.path)
            elif entry.is_dir(follow_symlinks=False):
                folders.append(Path(entry.path))
        self._inside[folder] = folders
        for path in folders:
            if path not in known:
                yield from self._open(path)

    def _open(self, folder: Path) -> Iterator[Path]:
        """The file of a run folder, which may come later than the folder."""
        found = [Path(entry.path) for entry in _entries(folder) if _is_wandb(entry)]
        if not found and "run-" in folder.name:
            self._empty.append(folder)
        yield from found

    def _late(self) -> Iterator[Path]:
        for folder in list(islice(self._empty, LOOKS)):
            self._empty.remove(folder)
            if folder.exists():
                yield from self._open(folder)

    def _changed(self, folder: Path) -> bool:
        try:
            changed_ns = folder.stat().st_mtime_ns
        except OSError:
            return False
        before_ns, listed_ns = self._listed.get(folder, (-1, 0))
        if changed_ns == before_ns and listed_ns - changed_ns > _SETTLED_NS:
            return False
        self._listed[folder] = (changed_ns, time.time_ns())
        return True


def _is_wandb(entry: os.DirEntry[str]) -> bool:
    named = entry.name.startswith("run-") and entry.name.endswith(".wandb")
    return named and not entry.is_symlink()


def _entries(folder: Path) -> Iterable[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return ()


def wandb_files(folder: Path) -> list[Path]:
    """All `run-*.wandb` files in a folder and in the folders in it, symbolic links left out."""
    return sorted(set(_Folders().files(folder)))
