"""All bytes of some files, read and hashed. Runs in the child."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping

import msgspec

from apps.checkpoints.domain.reading import Unreadable, Vanished
from apps.checkpoints.domain.zipsums import MAX_ENTRIES, Summing, sums
from apps.checkpoints.storage.opening import Folder, opened
from apps.checkpoints.storage.protocol import (
    Answer,
    Failed,
    FileHashed,
    FileLost,
    HashAsk,
    Progress,
    SumsSeen,
)

INTEGRITY = "integrity.json"
MAX_INTEGRITY_BYTES = 16 * 1024 * 1024
MAX_BAD = 5
BUCKET_ARCHIVES = 500
"""Each costs a request before the file is read: a shard of many small tensors would take hours."""
CHUNK_BYTES = 8 * 1024 * 1024
EVERY_S = 1.0

Say = Callable[[Answer], None]


class _Integrity(msgspec.Struct):
    algorithm: str
    files: dict[str, str]


def run(ask: HashAsk, say: Say) -> None:
    """Says FileHashed or FileLost of every file in the order asked, Progress meanwhile, and before
    them SumsSeen where a framework wrote down what its files hash to."""
    try:
        folder = opened(ask.target)
    except OSError as error:
        say(Failed(error.strerror or str(error)))
        return
    done = _Counter(say)
    archives = BUCKET_ARCHIVES if ask.target.bucket else MAX_ENTRIES
    how = _chunk(ask.target.bytes_s), archives
    said = _said(folder, ask.files)
    if said:
        say(SumsSeen(said))
    for name, size in ask.files.items():
        try:
            say(_hashed(folder, name, size, how, done))
        except (Vanished, Unreadable) as error:
            say(FileLost(name, error.message, isinstance(error, Vanished)))


def _hashed(
    folder: Folder, name: str, size: int, how: tuple[int, int], done: _Counter
) -> FileHashed:
    """To the end of the file, wherever that is now; one byte more than expected shows growth.

    how: bytes of one read, and of how many archives the own checksums are worth their reads.
    """
    chunk, archives = how

    def read(start: int, length: int) -> bytes:
        done.add(0)
        return folder.read(name, start, length)

    own = sums(read, size, archives)
    summing = Summing(own.entries)
    digest, at = hashlib.sha256(), 0
    while at <= size:
        data = read(at, min(chunk, size + 1 - at))
        if not data:
            break
        digest.update(data)
        summing.feed(data)
        at += len(data)
        done.add(len(data))
    bad = summing.end()[:MAX_BAD]
    return FileHashed(name, at, digest.hexdigest(), own.whole, tuple(one[:200] for one in bad))


def _said(folder: Folder, files: Mapping[str, int]) -> dict[str, str]:
    """What integrity.json says. Source: Megatron-LM d98e8a64, --verify-integrity. {} if there is
    none that can be read."""
    size = files.get(INTEGRITY, 0)
    if not 0 < size <= MAX_INTEGRITY_BYTES:
        return {}
    try:
        text = folder.read(INTEGRITY, 0, size)
        found = msgspec.json.decode(text, type=_Integrity)
    except (Vanished, Unreadable, msgspec.DecodeError):
        return {}
    return found.files if found.algorithm.lower().replace("-", "") == "sha256" else {}


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
