"""What a pickle names, found without running it: globals, and the storages of tensors.

The opcodes are walked with a stack of stand-ins. A text, a number, a name and a small tuple of them
are kept, because names and storages are made of them; everything else is one opaque value.
"""

from __future__ import annotations

import pickletools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from apps.checkpoints.domain.headers.unsafe import Trust, trust

_MAX_TUPLE = 8
_MAX_NAMES = 10_000


class BadPickle(Exception):
    """Not a pickle, or not all of one. cut: it ends before it is over."""

    def __init__(self, message: str, *, cut: bool) -> None:
        super().__init__(message)
        self.cut = cut


@dataclass(frozen=True, slots=True)
class Named:
    """A name the pickle refers to."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


@dataclass(slots=True)
class Names:
    """unsafe, foreign: names by what they are. storages: key -> (type of the storage, elements).
    end: where the pickle ends in the data."""

    unsafe: set[str] = field(default_factory=set)
    foreign: set[str] = field(default_factory=set)
    storages: dict[str, tuple[str, int]] = field(default_factory=dict)
    end: int = 0


class _Mark:
    """Stands where MARK was."""


_CUT = ("exhausted", "not enough data", "remain")
"""What the standard library says of a pickle that ends too early."""
_OPAQUE: Any = object()
_MARK: Any = _Mark()
_KEPT = (str, int, Named)


def names_of(data: bytes, start: int = 0) -> Names:
    """What the pickle that begins at `start` names. Raises BadPickle, and nothing else.

    O(opcodes), about a microsecond each, whatever the pickle would do.
    """
    walk = _Walk()
    try:
        for code, argument, at in pickletools.genops(data[start:]):
            walk.step(code, argument)
            walk.names.end = start + (at or 0) + 1
    except (ValueError, IndexError, KeyError, OverflowError) as error:
        cut = any(word in str(error) for word in _CUT)
        raise BadPickle(str(error)[:200], cut=cut) from error
    return walk.names


class _Walk:
    def __init__(self) -> None:
        self.names = Names()
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def step(self, code: pickletools.OpcodeInfo, argument: Any) -> None:
        """Does to the stack what the opcode would do, with stand-ins."""
        special = _SPECIAL.get(code.name)
        if special is not None:
            special(self, argument)
            return
        needed, to_mark, given = _EFFECTS[code.name]
        if to_mark:
            self.to_mark()
        for _ in range(needed):
            self.stack.pop()
        kept = argument if code.name in _LITERALS and isinstance(argument, _KEPT) else _OPAQUE
        self.stack += [kept] * given

    def to_mark(self) -> list[Any]:
        """Takes the values above the last mark, and the mark."""
        at = len(self.stack) - 1
        while self.stack[at] is not _MARK:
            at -= 1
            if at < 0:
                raise IndexError("no mark")
        values = self.stack[at + 1 :]
        del self.stack[at:]
        return values

    def name(self, module: Any, name: Any) -> None:
        """Notes a name; one that is computed can be anything."""
        if not isinstance(module, str) or not isinstance(name, str):
            self.names.unsafe.add("a name that the pickle computes")
            self.stack.append(_OPAQUE)
            return
        named = Named(module, name)
        kind = trust(module, name)
        into = {Trust.UNSAFE: self.names.unsafe, Trust.FOREIGN: self.names.foreign}.get(kind)
        if into is not None and len(into) < _MAX_NAMES:
            into.add(str(named))
        self.stack.append(named)

    def tuple_of(self, values: list[Any]) -> None:
        """A small tuple of kept values stays one; a tuple inside a tuple does not matter."""
        self.stack.append(tuple(values) if len(values) <= _MAX_TUPLE else _OPAQUE)

    def last(self, count: int) -> list[Any]:
        """Takes the last values."""
        if len(self.stack) < count:
            raise IndexError("not enough values on the stack")
        values = self.stack[len(self.stack) - count :]
        del self.stack[len(self.stack) - count :]
        return values

    def storage(self, pid: Any) -> None:
        """torch.save refers to a storage by ("storage", type, key, device, elements)."""
        if isinstance(pid, tuple) and len(pid) == 5 and pid[0] == "storage":
            kind, key, elements = pid[1], pid[2], pid[4]
            if isinstance(key, str):
                self.names.storages[key] = (str(kind), elements if isinstance(elements, int) else 0)
        self.stack.append(_OPAQUE)


def _stack_global(walk: _Walk, _: Any) -> None:
    module, name = walk.last(2)
    walk.name(module, name)


def _text_global(walk: _Walk, argument: Any) -> None:
    module, _, name = str(argument).partition(" ")
    walk.name(module, name)


def _inst(walk: _Walk, argument: Any) -> None:
    walk.to_mark()
    _text_global(walk, argument)


def _extension(walk: _Walk, argument: Any) -> None:
    walk.names.unsafe.add("an entry of the extension registry")
    walk.stack.append(_OPAQUE)


def _pop(walk: _Walk, _: Any) -> None:
    walk.stack.pop()


def _put(walk: _Walk, argument: Any) -> None:
    walk.memo[int(argument)] = walk.stack[-1]


def _memoize(walk: _Walk, _: Any) -> None:
    walk.memo[len(walk.memo)] = walk.stack[-1]


def _get(walk: _Walk, argument: Any) -> None:
    walk.stack.append(walk.memo.get(int(argument), _OPAQUE))


_SPECIAL: dict[str, Any] = {
    "MARK": lambda walk, _: walk.stack.append(_MARK),
    "POP": _pop,
    "POP_MARK": lambda walk, _: walk.to_mark(),
    "DUP": lambda walk, _: walk.stack.append(walk.stack[-1]),
    "STACK_GLOBAL": _stack_global,
    "GLOBAL": _text_global,
    "INST": _inst,
    **dict.fromkeys(("EXT1", "EXT2", "EXT4"), _extension),
    **dict.fromkeys(("PUT", "BINPUT", "LONG_BINPUT"), _put),
    **dict.fromkeys(("GET", "BINGET", "LONG_BINGET"), _get),
    "MEMOIZE": _memoize,
    "TUPLE": lambda walk, _: walk.tuple_of(walk.to_mark()),
    "TUPLE1": lambda walk, _: walk.tuple_of(walk.last(1)),
    "TUPLE2": lambda walk, _: walk.tuple_of(walk.last(2)),
    "TUPLE3": lambda walk, _: walk.tuple_of(walk.last(3)),
    "BINPERSID": lambda walk, _: walk.storage(walk.stack.pop()),
    "PERSID": lambda walk, argument: walk.storage(argument),
}


def _effects() -> Iterator[tuple[str, tuple[int, bool, int]]]:
    """Opcode -> (values it takes below the mark, whether it takes those to the mark, values given).
    From the standard library's description of each opcode."""
    for code in pickletools.opcodes:
        before = list(code.stack_before)
        to_mark = pickletools.markobject in before
        taken = before.index(pickletools.markobject) if to_mark else len(before)
        yield code.name, (taken, to_mark, len(code.stack_after))


_EFFECTS = dict(_effects())
_LITERALS = frozenset(
    code.name for code in pickletools.opcodes if not code.stack_before and code.arg is not None
)
