"""The child's side: looks at a root, or reads whole files, and says what it finds line by line.

`python -m apps.checkpoints.storage.child` reads one Order from its standard input. It bounds itself
before it opens anything, and ends when nobody listens any more.
"""

from __future__ import annotations

import os
import resource
import sys
import threading
from collections.abc import Callable

from apps.checkpoints.storage import erase_work, hash_work, scan_work
from apps.checkpoints.storage.process import OUT_OF_MEMORY
from apps.checkpoints.storage.protocol import (
    Answer,
    Done,
    EraseAsk,
    HashAsk,
    Order,
    decode_order,
    encode,
)

_FILES = 256
_SAID_BYTES = 1 << 20
"""What it may write: only its last words, to standard error."""
Say = Callable[[Answer], None]


def main() -> None:
    """Does what the order says. Its end is Done; without it something went wrong."""
    order = decode_order(sys.stdin.buffer.readline())
    # Its stack is memory too: where the bound is tight, a thread could not be started any more.
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _bound(order)
    say = _speaker()
    try:
        if isinstance(order.ask, HashAsk):
            hash_work.run(order.ask, say)
        elif isinstance(order.ask, EraseAsk):
            erase_work.run(order.ask, say)
        else:
            scan_work.run(order.ask, say)
        say(Done())
    except MemoryError:
        os._exit(OUT_OF_MEMORY)


def _bound(order: Order) -> None:
    os.nice(10)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (_FILES, _FILES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (_SAID_BYTES, _SAID_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (order.cpu_s, order.cpu_s + 1))
    resource.setrlimit(resource.RLIMIT_AS, (order.memory_bytes, order.memory_bytes))


def _end_with_parent() -> None:
    """The parent never writes a second line: the end of the input is the end of the parent."""
    sys.stdin.buffer.read()
    os._exit(0)


def _speaker() -> Say:
    """Lines go to the real standard output; what a library prints goes to the log."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)

    def say(answer: Answer) -> None:
        out.write(encode(answer) + b"\n")
        out.flush()

    return say


if __name__ == "__main__":
    main()
