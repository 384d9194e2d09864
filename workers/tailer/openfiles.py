"""A budget of file handles: thousands of followed files, a few hundred of them open."""

from __future__ import annotations

import resource
from collections import OrderedDict
from typing import Protocol

SPARE = 128
"""Handles for sockets, the spool and libraries."""
MOST = 1024


class Closable(Protocol):
    """Something that holds one handle and opens it again when it is needed."""

    def close(self) -> None:
        """Give the handle back."""


class OpenFiles:
    """Closes what was not used for longest when more than `limit` files are open."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._files: OrderedDict[Closable, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._files)

    def used(self, file: Closable) -> None:
        """`file` is open, and was used now."""
        self._files[file] = None
        self._files.move_to_end(file)
        while len(self._files) > self.limit:
            oldest = next(iter(self._files))
            oldest.close()
            self._files.pop(oldest, None)

    def closed(self, file: Closable) -> None:
        """`file` has no handle any more."""
        self._files.pop(file, None)


def allowed() -> int:
    """How many files may be open: the process's limit, raised as far as it may, less SPARE."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST + SPARE if hard == resource.RLIM_INFINITY else min(hard, MOST + SPARE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    return max(8, min(soft if soft > 0 else wanted, wanted) - SPARE)


FILES = OpenFiles(MOST // 4)
"""Of this process; the program sets its limit."""
