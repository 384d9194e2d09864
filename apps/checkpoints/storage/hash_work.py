"""All bytes of some files, read and hashed. Runs in the child."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable

from apps.checkpoints.domain.reading import Unreadable, Vanished
from apps.checkpoints.storage.opening import Folder, opened
from apps.checkpoints.storage.pace import Pace
from apps.checkpoints.storage.places import Place
from apps.checkpoints.storage.protocol import Answer, FileHashed, FileLost, HashAsk, Progress

CHUNK_BYTES = 8 * 1024 * 1024
EVERY_S = 1.0

Say = Callable[[Answer], None]


def run(ask: HashAsk, say: Say) -> None:
    """Says FileHashed or FileLost of every file in the order asked, and Progress meanwhile."""
    target = ask.target
    folder = opened(Place(target.bucket, target.path), target.access, Pace(target.bytes_s))
    done = _Counter(say)
    chunk = _chunk(target.bytes_s)
    for name, size in ask.files.items():
        try:
            say(_hashed(folder, name, size, chunk, done))
        except (Vanished, Unreadable) as error:
            say(FileLost(name, error.message, isinstance(error, Vanished)))


def _hashed(folder: Folder, name: str, size: int, chunk: int, done: _Counter) -> FileHashed:
    """To the end of the file, wherever that is now; one byte more than expected shows growth."""
    digest, at = hashlib.sha256(), 0
    while at <= size:
        data = folder.read(name, at, min(chunk, size + 1 - at))
        if not data:
            break
        digest.update(data)
        at += len(data)
        done.add(len(data))
    return FileHashed(name, at, digest.hexdigest())


def _chunk(bytes_s: int) -> int:
    """At a slow pace smaller reads, so that it is held within a second."""
    return max(64 * 1024, min(CHUNK_BYTES, bytes_s)) if bytes_s else CHUNK_BYTES


class _Counter:
    """Bytes read so far, said every EVERY_S."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self._bytes = 0
        self._next = time.monotonic() + EVERY_S

    def add(self, count: int) -> None:
        self._bytes += count
        if time.monotonic() >= self._next:
            self._say(Progress(self._bytes))
            self._next = time.monotonic() + EVERY_S
