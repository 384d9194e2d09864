"""One page of lines out of chunks that overlap in time, in key order, with little decoding."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from apps.logs.domain.chunks import ChunkLines
from apps.logs.domain.cursor import MAX_INT64, MIN_INT64, LineKey

_LAST_TEXT = "\U0010ffff"


@dataclass(frozen=True, slots=True)
class Found:
    """A line that belongs on the page: its key, and where it is."""

    key: LineKey
    chunk: ChunkLines
    number: int
    tag: tuple[int, str]


@dataclass(slots=True)
class PageBuilder:
    """Collects lines from chunks that come in time order and gives them out in key order.

    after: key of the last line of the page before. newest_first: everything mirrored. Give
    chunks ordered by their first time (newest_first: by last time, descending); call release()
    with the next chunk's first (last) time before adding it.
    """

    limit: int
    after: LineKey | None = None
    newest_first: bool = False
    page: list[Found] = field(default_factory=list)
    held: list[Found] = field(default_factory=list)

    @property
    def full(self) -> bool:
        """Whether the page has its lines."""
        return len(self.page) >= self.limit

    def add(self, chunk: ChunkLines, hit: NDArray[np.bool_], tag: tuple[int, str]) -> None:
        """Take the lines of one chunk where `hit`. tag: (attempt, node), kept with each line."""
        numbers = np.nonzero(hit)[0]
        order = np.lexsort((chunk.seq[numbers], chunk.rank[numbers], chunk.time_ns[numbers]))
        numbers = numbers[order][::-1] if self.newest_first else numbers[order]
        taken = 0
        for number in numbers[self._start(chunk.time_ns[numbers]) :]:
            key = key_of(chunk, int(number), tag)
            if self._is_behind(key):
                self.held.append(Found(key, chunk, int(number), tag))
                taken += 1
                if taken >= self.limit:
                    break

    def release(self, bound_ns: int | None) -> None:
        """Give out held lines that no later chunk can precede; all of them if bound_ns is None."""
        if bound_ns is None:
            ready, self.held = self.held, []
        else:
            ready = [f for f in self.held if self._before(f.key[0], bound_ns)]
            self.held = [f for f in self.held if not self._before(f.key[0], bound_ns)]
        ready.sort(key=lambda f: f.key, reverse=self.newest_first)
        self.page.extend(ready[: self.limit - len(self.page)])

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

    def _before(self, time_ns: int, bound_ns: int) -> bool:
        return time_ns > bound_ns if self.newest_first else time_ns < bound_ns

    def _is_behind(self, key: LineKey) -> bool:
        if self.after is None:
            return True
        return key < self.after if self.newest_first else key > self.after

    def _start(self, times: NDArray[np.int64]) -> int:
        """First position that can lie behind `after`; times are in page order."""
        if self.after is None:
            return 0
        if self.newest_first:
            return int(np.searchsorted(-times, -self.after[0], side="left"))
        return int(np.searchsorted(times, self.after[0], side="left"))


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
