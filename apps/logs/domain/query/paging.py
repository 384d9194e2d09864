"""One page of lines out of chunks that overlap in time, in key order, with little decoding."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from apps.logs.domain.chunk.chunks import ChunkLines
from apps.logs.domain.query.cursor import MAX_INT64, MIN_INT64, LineKey

_LAST_TEXT = "\U0010ffff"


@dataclass(frozen=True, slots=True)
class Found:
    """A line that belongs on the page: its key, and where it is."""

    key: LineKey
    chunk: ChunkLines
    number: int
    tag: tuple[int, str]


@dataclass(slots=True)
class _Held:
    """Lines of one chunk that are not given out yet, in page order. times: of these lines."""

    chunk: ChunkLines
    tag: tuple[int, str]
    numbers: NDArray[np.int64]
    times: NDArray[np.int64]

    def cut(self, count: int) -> _Held:
        """The first `count` of them, which then are held no more."""
        first = _Held(self.chunk, self.tag, self.numbers[:count], self.times[:count])
        self.numbers, self.times = self.numbers[count:], self.times[count:]
        return first


@dataclass(slots=True)
class PageBuilder:
    """Collects lines from chunks that come in time order and gives them out in key order.

    after: key of the last line of the page before. newest_first: everything mirrored. Give
    chunks ordered by their first time (newest_first: by last time, descending); call release()
    with the next chunk's first (last) time before adding it. A line costs nothing but its place in
    a sorted column until it is given out.
    """

    limit: int
    after: LineKey | None = None
    newest_first: bool = False
    page: list[Found] = field(default_factory=list)
    held: list[_Held] = field(default_factory=list)

    @property
    def full(self) -> bool:
        """Whether the page has its lines."""
        return len(self.page) >= self.limit

    def add(self, chunk: ChunkLines, hit: NDArray[np.bool_], tag: tuple[int, str]) -> None:
        """Take the lines of one chunk where `hit`. tag: (attempt, node), kept with each line."""
        numbers = np.nonzero(hit)[0]
        files = _order_of_files(chunk, tag)[chunk.origin[numbers]]
        times = chunk.time_ns[numbers]
        order = np.lexsort((files, chunk.seq[numbers], chunk.rank[numbers], times))
        if self.newest_first:
            order = order[::-1]
        numbers, times = numbers[order], times[order]
        start = self._start(times)
        while start < len(numbers) and not self._is_behind(key_of(chunk, int(numbers[start]), tag)):
            start += 1
        mine = slice(start, start + self.limit)
        if start < len(numbers):
            self.held.append(_Held(chunk, tag, numbers[mine], times[mine]))

    def release(self, bound_ns: int | None) -> None:
        """Give out held lines that no later chunk can precede; all of them if bound_ns is None."""
        ready = []
        for held in self.held:
            count = len(held.times) if bound_ns is None else self._before(held.times, bound_ns)
            if count:
                ready.append(held.cut(count))
        self.held = [held for held in self.held if len(held.numbers)]
        if ready and not self.full:
            self.page += self._merged(ready, self.limit - len(self.page))

    def _merged(self, ready: list[_Held], need: int) -> list[Found]:
        """The first `need` of these lines, in key order."""
        parts = [part.cut(need) for part in ready]
        time_ns, rank, seq = (
            np.concatenate([getattr(part.chunk, name)[part.numbers] for part in parts])
            for name in ("time_ns", "rank", "seq")
        )
        of = np.repeat(np.arange(len(parts)), [len(part.numbers) for part in parts])
        number = np.concatenate([part.numbers for part in parts])
        order = np.lexsort((seq, rank, time_ns))
        if self.newest_first:
            order = order[::-1]
        end = min(need, len(order))
        last = order[end - 1]
        same = (time_ns == time_ns[last]) & (rank == rank[last]) & (seq == seq[last])
        while end < len(order) and same[order[end]]:
            end += 1
        found = [_found(parts[of[at]], int(number[at])) for at in order[:end].tolist()]
        found.sort(key=lambda line: line.key, reverse=self.newest_first)
        return found[:need]

    def restart(self, bound_ns: int) -> None:
        """Forget held lines: chunks are added anew from the one of the last release() on."""
        self.held = []
        key = self.resume_key(bound_ns)
        if self.advances(key):
            self.after = key

    def resume_key(self, bound_ns: int) -> LineKey:
        """Key behind which to go on if the next chunk (see release) is not scanned."""
        if self.newest_first:
            return (min(bound_ns, MAX_INT64 - 1) + 1, -(2**31), MIN_INT64, "")
        return (max(bound_ns, MIN_INT64 + 1) - 1, 2**31 - 1, MAX_INT64, _LAST_TEXT)

    def advances(self, key: LineKey) -> bool:
        """Whether going on behind `key` is progress against the page's start."""
        return self._is_behind(key)

    def _before(self, times: NDArray[np.int64], bound_ns: int) -> int:
        """How many of the times, which are in page order, come before the bound."""
        if self.newest_first:
            return int(np.searchsorted(-times, -bound_ns, side="left"))
        return int(np.searchsorted(times, bound_ns, side="left"))

    def _is_behind(self, key: LineKey) -> bool:
        if self.after is None:
            return True
        return key < self.after if self.newest_first else key > self.after

    def _start(self, times: NDArray[np.int64]) -> int:
        """First position that can lie behind `after`; times are in page order."""
        return 0 if self.after is None else self._before(times, self.after[0])


def _found(held: _Held, number: int) -> Found:
    return Found(key_of(held.chunk, number, held.tag), held.chunk, number, held.tag)


def _order_of_files(chunk: ChunkLines, tag: tuple[int, str]) -> NDArray[np.int64]:
    """Place of each of the chunk's files in the order of their keys."""
    keys = [file_key(origin.source, *tag) for origin in chunk.origins]
    places = np.empty(len(keys), np.int64)
    places[sorted(range(len(keys)), key=keys.__getitem__)] = np.arange(len(keys))
    return places


def key_of(chunk: ChunkLines, number: int, tag: tuple[int, str]) -> LineKey:
    """Key of one line; files of the same name differ by attempt and node."""
    source = chunk.origins[int(chunk.origin[number])].source
    return (
        int(chunk.time_ns[number]),
        int(chunk.rank[number]),
        int(chunk.seq[number]),
        file_key(source, *tag),
    )


def file_key(source: str, attempt: int, node: str) -> str:
    """The file as the last part of a line's key. Node names hold no `|`, sources may."""
    return f"{source}|{attempt}|{node}"


def file_of(key: str) -> tuple[str, int, str]:
    """(source, attempt, node) of file_key(). Raises ValueError."""
    source, attempt, node = key.rsplit("|", 2)
    return source, int(attempt), node
