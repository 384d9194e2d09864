"""Reading parts of files: what a storage offers, and many small reads at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import chain
from typing import Protocol, TypeVar

from apps.core.errors import AppError

_Asked = TypeVar("_Asked")
_Given = TypeVar("_Given")


class Vanished(AppError):
    """The file is not there any more. Rotation deletes while a folder is listed."""


class Unreadable(AppError):
    """The file is there and cannot be read: no permission, no answer in time, a broken disk."""


class Reader(Protocol):
    """A storage as a checker sees it. Several threads may read at once."""

    def read(self, name: str, start: int, length: int) -> bytes:
        """The bytes [start, start + length) of a file, fewer where it ends before.

        name: relative to the root of the tree. start: negative counts from the end, and a file
        that is shorter is given whole. Raises Vanished or Unreadable, and nothing else.
        """
        ...


@dataclass(frozen=True, slots=True)
class Part:
    """Bytes [start, start + length) of a file; a negative start counts from its end."""

    name: str
    start: int
    length: int


@dataclass(slots=True)
class Source:
    """What is read of one checkpoint, counted. workers: reads at the same time; over a network the
    time of a check is about reads x latency / workers."""

    reader: Reader
    workers: int = 1
    bytes_read: int = field(default=0, init=False)
    reads: int = field(default=0, init=False)

    def one(self, name: str, start: int, length: int) -> bytes:
        """One part. Raises Vanished and Unreadable."""
        content = self.reader.read(name, start, length)
        self.reads += 1
        self.bytes_read += len(content)
        return content

    def many(self, parts: Sequence[Part]) -> list[bytes | Vanished | Unreadable]:
        """The parts in their order, an error in place of one that could not be read."""
        got = spread(self._try, parts, self.workers)
        self.reads += len(parts)
        self.bytes_read += sum(len(content) for content in got if isinstance(content, bytes))
        return got

    def _try(self, part: Part) -> bytes | Vanished | Unreadable:
        try:
            return self.reader.read(part.name, part.start, part.length)
        except (Vanished, Unreadable) as error:
            return error


def spread(work: Callable[[_Asked], _Given], asked: Sequence[_Asked], workers: int) -> list[_Given]:
    """work(each), in the order of `asked`, by at most so many threads. Each thread takes a share
    of neighbours, so that a thousand fast reads do not wait for a thousand hand-overs."""
    threads = min(workers, len(asked))
    if threads < 2:
        return [work(each) for each in asked]
    size = max(1, -(-len(asked) // (threads * 4)))
    shares = [asked[at : at + size] for at in range(0, len(asked), size)]
    with ThreadPoolExecutor(threads) as pool:
        return list(chain.from_iterable(pool.map(lambda share: [work(e) for e in share], shares)))


class Held:
    """A reader of contents in memory: name -> bytes."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files = files

    def read(self, name: str, start: int, length: int) -> bytes:
        """As `Reader.read`."""
        content = self.files.get(name)
        if content is None:
            raise Vanished("the file is not there", where=name)
        first = start if start >= 0 else max(0, len(content) + start)
        return content[first : first + length]
