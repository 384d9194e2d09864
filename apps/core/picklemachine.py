"""What reads a pickle keeps in mind, and the inert values that it builds (see pickles.py)."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from apps.core.errors import BadPayload

KEY_TYPES = (str, int, float, bytes, type(None))
_LONG_BINGET, _MEMOIZE = ord("j"), b"\x94"
_LOW_INDEXES = 256
_WINDOW_BYTES = 4 * 1024 * 1024


class PickleRefused(BadPayload):
    """The pickle is damaged or wants more than data. unsafe: it names something it may not name."""

    def __init__(self, message: str, *, hint: str, where: str = "", unsafe: bool = False) -> None:
        super().__init__(message, hint=hint, where=where)
        self.unsafe = unsafe


@dataclass(frozen=True, slots=True)
class Expected:
    """The kind of file that is read. what: in words, with its article.

    allowed(module, name): whether the pickle may name this. if_cut, if_unsafe: what to do.
    """

    what: str
    allowed: Callable[[str, str], bool]
    if_cut: str
    if_unsafe: str

    def refuses(self, message: str, *, where: str = "", unsafe: bool = False) -> PickleRefused:
        """The error to raise."""
        hint = self.if_unsafe if unsafe else self.if_cut
        return PickleRefused(message, hint=hint, where=where, unsafe=unsafe)


@dataclass(frozen=True, slots=True, eq=False)
class Global:
    """A name the pickle refers to. Inert: only its text."""

    name: str


class Node:
    """An object the pickle would have built.

    Hashed and compared by identity: a `__hash__` in Python made checks 15-75 times slower.
    """

    __slots__ = ("args", "kind", "state")

    def __init__(self, kind: str, args: tuple[Any, ...]) -> None:
        self.kind = kind
        self.args = args
        self.state: Any = None


class Folding:
    """Makes less of what was read, while it is read. This one keeps everything as it is."""

    def node(self, node: Node) -> Any:
        """What stands for a node from now on; called when it was made and when it got its state."""
        return node

    def pairs(self, target: dict[Any, Any], pairs: list[Any]) -> list[Any]:
        """Which of the keys and values, one after the other, are stored in a dictionary."""
        return pairs


KEYS = (Node, *KEY_TYPES)


class Machine:
    """What a pickle has built so far: the stack, what is remembered, and the place in the file."""

    __slots__ = (
        *("data", "done", "expected", "folding", "globals", "marks", "memo", "memoized", "pos"),
        *("stack", "wanted"),
    )

    def __init__(self, data: bytes, expected: Expected, folding: Folding) -> None:
        self.data = data
        self.expected = expected
        self.folding = folding
        self.pos = 0
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}
        self.memoized = 0
        self.wanted = _wanted(data)
        self.globals: dict[str, Global] = {}
        self.done = False

    def take(self, size: int) -> bytes:
        """The next bytes. IndexError at the end."""
        end = self.pos + size
        if end > len(self.data):
            raise IndexError
        part = self.data[self.pos : end]
        self.pos = end
        return part

    def uint1(self) -> int:
        """The next byte."""
        value = self.data[self.pos]
        self.pos += 1
        return value

    def unpack(self, form: struct.Struct) -> Any:
        """The next number."""
        value = form.unpack_from(self.data, self.pos)[0]
        self.pos += form.size
        return value

    def line(self) -> str:
        """Text up to the end of its line."""
        end = self.data.index(b"\n", self.pos)
        text = self.data[self.pos : end].decode()
        self.pos = end + 1
        return text

    def pop_mark(self) -> list[Any]:
        """What was built since the last mark."""
        start = self.marks.pop()
        items = self.stack[start:]
        del self.stack[start:]
        return items

    def floor(self) -> int:
        """Lowest stack index an opcode may touch: nothing below the last mark."""
        return self.marks[-1] if self.marks else 0

    def pop(self) -> Any:
        """The newest value."""
        if len(self.stack) <= self.floor():
            raise IndexError
        return self.stack.pop()

    def named(self, module: str, name: str) -> Global:
        """A name, if this kind of file may have it."""
        full = f"{module}.{name}"
        known = self.globals.get(full)
        if known is None:
            if not self.expected.allowed(module, name):
                shown = full if len(full) <= 120 else f"{full[:120]}..."
                raise self.expected.refuses(
                    f"the pickle names {shown!r}, which is not part of {self.expected.what}",
                    where=f"byte {self.pos}",
                    unsafe=True,
                )
            known = self.globals[full] = Global(full)
        return known

    def build(self) -> None:
        """A node in place of a call."""
        args = self.pop()
        function = self.pop()
        if not isinstance(function, Global) or not isinstance(args, tuple):
            raise TypeError("a call without an allowed name")
        ordered = function.name == "collections.OrderedDict"
        self.stack.append({} if ordered else self.folding.node(Node(function.name, args)))


def _wanted(data: bytes) -> bytearray:
    """Index of a memoized value -> whether an opcode of the file may ask for it again.

    Every byte that could be the opcode is taken for one: that keeps too much, never too little.
    Low indexes are kept always. A pickle memoizes each value it writes and asks for few of them.
    """
    wanted = bytearray(b"\x01" * _LOW_INDEXES) + bytearray(data.count(_MEMOIZE))
    for begin in range(0, len(data), _WINDOW_BYTES):
        window = np.frombuffer(data, np.uint8, min(_WINDOW_BYTES + 4, len(data) - begin), begin)
        at = np.flatnonzero(window[:-4] == _LONG_BINGET)
        index = np.zeros(len(at), np.int64)
        for byte in range(4):
            index += window[at + 1 + byte].astype(np.int64) << (8 * byte)
        np.frombuffer(wanted, np.uint8)[index[index < len(wanted)]] = 1
    return wanted
