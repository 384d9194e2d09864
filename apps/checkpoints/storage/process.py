"""The child process that touches storage: started, listened to, ended.

A mount may hang for ever and what lies on it may be made to harm: so the process that holds the
database never opens a file there. The child knows no secret but those of the bucket.
"""

from __future__ import annotations

import os
import selectors
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import msgspec

from apps.checkpoints.storage.protocol import Answer, Ask, Done, Order, decode_answer, encode
from apps.core.errors import AppError

_ROOT = Path(__file__).resolve().parents[3]
_CHILD = "apps.checkpoints.storage.child"
_KEPT = frozenset(
    ("PATH", "HOME", "LANG", "TMPDIR", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE",
     "SSL_CERT_DIR")
)  # fmt: skip
MAX_LINE_BYTES = 96 * 1024 * 1024
_READ_BYTES = 1 << 20
_ENDS_WITHIN_S = 2.0


class ChildFailed(AppError):
    """The child did not come to its end: time, memory, or something else."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What the child may take. seconds: on the clock, and of the processor. silent_s: until its
    next word; None: no such bound."""

    seconds: float
    memory_bytes: int
    silent_s: float | None = None


def answers(ask: Ask, limits: Limits) -> Generator[Answer, None, None]:
    """What the child says, as it says it, without the closing Done.

    Raises ChildFailed when it dies or takes too long: what came before counts. The child is gone
    when the iterator ends or is closed, except where the kernel cannot end it (a hung mount): then
    it is left behind and does nothing more.
    """
    with tempfile.TemporaryFile() as said:
        child = _started(ask, limits, said)
        try:
            for line in _lines(child, time.monotonic() + limits.seconds, limits):
                answer = _read(line)
                if isinstance(answer, Done):
                    return
                yield answer
            raise ChildFailed(_why(child, said))
        finally:
            _end(child)


def _started(ask: Ask, limits: Limits, said: IO[bytes]) -> subprocess.Popen[bytes]:
    child = subprocess.Popen(  # noqa: S603 - nothing of it comes from outside
        [sys.executable, "-m", _CHILD],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=said,
        cwd=_ROOT,
        env=_environment(),
        start_new_session=True,
    )
    order = Order(ask, limits.memory_bytes, int(limits.seconds) + 1)
    assert child.stdin is not None  # noqa: S101 - it is a pipe
    try:
        child.stdin.write(encode(order) + b"\n")
        child.stdin.flush()  # left open: its end tells the child that nobody listens any more
    except BrokenPipeError:
        pass  # it died at once: the reader says why
    return child


def _environment() -> dict[str, str]:
    ours = {
        name: value
        for name, value in os.environ.items()
        if name in _KEPT or name.upper() in _KEPT or name.startswith("AWS_")
    }
    # One heap and no pools of threads: address space is what is bounded.
    return ours | {"MALLOC_ARENA_MAX": "2", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def _lines(child: subprocess.Popen[bytes], until: float, limits: Limits) -> Iterator[bytes]:
    """Its lines until it closes its output. Raises ChildFailed at the deadline."""
    out = child.stdout
    assert out is not None  # noqa: S101 - it is a pipe
    held = bytearray()
    with selectors.DefaultSelector() as ready:
        ready.register(out, selectors.EVENT_READ)
        while True:
            left = max(0.0, until - time.monotonic())
            silent = limits.silent_s is not None and limits.silent_s < left
            if not ready.select(limits.silent_s if silent else left):
                raise _too_late(limits, silent)
            part = os.read(out.fileno(), _READ_BYTES)
            if not part:
                return
            held += part
            *lines, rest = held.split(b"\n")
            held = bytearray(rest)
            if len(held) > MAX_LINE_BYTES:
                raise ChildFailed("it answered more than one line may hold")
            yield from map(bytes, lines)


def _too_late(limits: Limits, silent: bool) -> ChildFailed:
    if silent:
        text = f"nothing was read for {limits.silent_s:.0f} s: it was ended"
        return ChildFailed(text, hint="the mount or the bucket hangs")
    return ChildFailed(
        f"it took longer than {limits.seconds:.0f} s and was ended",
        hint="a mount may hang, or the root is too large: make it smaller",
    )


def _read(line: bytes) -> Answer:
    try:
        return decode_answer(line)
    except msgspec.DecodeError as error:
        raise ChildFailed(f"it answered what nobody understands: {error}") from error


def _why(child: subprocess.Popen[bytes], said: IO[bytes]) -> str:
    """Why it ended early, in words."""
    try:
        code = child.wait(_ENDS_WITHIN_S)
    except subprocess.TimeoutExpired:
        return "it stopped to answer"
    said.seek(max(0, said.seek(0, os.SEEK_END) - 4_000))
    last = said.read().decode("utf-8", "replace").strip().rsplit("\n", 1)[-1][:300]
    if code == OUT_OF_MEMORY or "memory allocation of" in last:
        return "it needed more memory than it may have and was ended"
    if code < 0:
        return f"it was ended by signal {-code}"
    return f"it ended with code {code}: {last}"


def _end(child: subprocess.Popen[bytes]) -> None:
    for pipe in (child.stdin, child.stdout):
        if pipe is not None:
            try:
                pipe.close()
            except BrokenPipeError:
                continue
    try:
        child.wait(0.05 if child.poll() is None else 0)
        return
    except subprocess.TimeoutExpired:
        child.kill()
    try:
        child.wait(_ENDS_WITHIN_S)
    except subprocess.TimeoutExpired:
        return  # in the kernel's hands


OUT_OF_MEMORY = 77
"""Exit code of a child that ran into its memory bound."""
