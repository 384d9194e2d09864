"""Reads a pickle as data: nothing that it names is ever imported, called or changed.

A pickle is a program. `pickle.Unpickler` runs it even with a strict `find_class`: it calls what
was found, sets attributes, and grows its memo to any index the file names. This reader knows only
the opcodes that files of data need, builds plain containers and inert nodes, and refuses
everything else with its byte offset. Time grows linearly with the input. Memory need not: whoever
reads may fold what was built into less at once, and only values that may be asked for again are
remembered.
Source of the opcodes: the standard library's `pickletools`. Each kind of file has its own allow
list: an `Expected`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from apps.core.picklemachine import KEYS, Expected, Folding, Global, Machine, Node, PickleRefused

__all__ = ["Expected", "Folding", "Global", "Node", "PickleRefused", "read_pickle"]

MAX_STACK = 100_000
_OPCODES_A_ROUND = 1_024
"""The size of the stack is looked at so often; an opcode adds one value to it."""
_INT = struct.Struct("<i")
_UINT2 = struct.Struct("<H")
_UINT4 = struct.Struct("<I")
_UINT8 = struct.Struct("<Q")
_FLOAT = struct.Struct(">d")

Handler = Callable[[Machine], None]


def _proto(m: Machine) -> None:
    if not 0 <= m.uint1() <= 5:
        raise ValueError("unknown pickle protocol")


def _frame(m: Machine) -> None:
    m.unpack(_UINT8)


def _stop(m: Machine) -> None:
    m.done = True


def _mark(m: Machine) -> None:
    m.marks.append(len(m.stack))


def _constant(value: Any) -> Handler:
    return lambda m: m.stack.append(value)


def _number(form: struct.Struct) -> Handler:
    return lambda m: m.stack.append(m.unpack(form))


def _binint1(m: Machine) -> None:
    m.stack.append(m.data[m.pos])
    m.pos += 1


def _long1(m: Machine) -> None:
    m.stack.append(int.from_bytes(m.take(m.uint1()), "little", signed=True))


def _short_text(m: Machine) -> None:
    m.stack.append(m.take(m.uint1()).decode("utf-8", "surrogatepass"))


def _text(form: struct.Struct) -> Handler:
    return lambda m: m.stack.append(m.take(m.unpack(form)).decode("utf-8", "surrogatepass"))


def _short_bytes(m: Machine) -> None:
    m.stack.append(m.take(m.uint1()))


def _tuple(m: Machine) -> None:
    items = tuple(m.pop_mark())
    m.stack.append(items)


def _tuple_of(size: int) -> Handler:
    def handler(m: Machine) -> None:
        stack = m.stack
        start = len(stack) - size
        if start < m.floor():
            raise IndexError
        items = tuple(stack[start:])
        del stack[start:]
        stack.append(items)

    return handler


def _append(m: Machine) -> None:
    item = m.pop()
    _top(m, list).append(item)


def _appends(m: Machine) -> None:
    items = m.pop_mark()
    _top(m, list).extend(items)


def _setitem(m: Machine) -> None:
    value, key = m.pop(), m.pop()
    _store(m, [key, value])


def _setitems(m: Machine) -> None:
    _store(m, m.pop_mark())


def _store(m: Machine, pairs: list[Any]) -> None:
    target = _top(m, dict)
    pairs = m.folding.pairs(target, pairs)
    keys = pairs[::2]
    if len(pairs) % 2 or not all(map(_is_key, keys)):
        # A tuple as a key is refused: hashing a deeply nested one overflows the C stack.
        raise TypeError("a dictionary key of an unexpected type")
    target.update(zip(keys, pairs[1::2], strict=True))


def _is_key(value: Any) -> bool:
    return isinstance(value, KEYS)


def _top(m: Machine, kind: type[Any]) -> Any:
    if len(m.stack) <= m.floor() or not isinstance(m.stack[-1], kind):
        raise TypeError(f"expected a {kind.__name__} to fill")
    return m.stack[-1]


def _stack_global(m: Machine) -> None:
    name, module = m.pop(), m.pop()
    if not isinstance(name, str) or not isinstance(module, str):
        raise TypeError("a global without a name")
    m.stack.append(m.named(module, name))


def _text_global(m: Machine) -> None:
    m.stack.append(m.named(m.line(), m.line()))


def _build_state(m: Machine) -> None:
    state = m.pop()
    node = _top(m, Node)
    node.state = state
    m.stack[-1] = m.folding.node(node)


def _get1(m: Machine) -> None:
    m.stack.append(m.memo[m.data[m.pos]])
    m.pos += 1


def _get4(m: Machine) -> None:
    m.stack.append(m.memo[m.unpack(_UINT4)])


def _put(index: Callable[[Machine], int]) -> Handler:
    def handler(m: Machine) -> None:
        at = index(m)
        m.memoized += at not in m.memo
        m.memo[at] = m.stack[-1]

    return handler


def _index4(m: Machine) -> int:
    return int(m.unpack(_UINT4))


def _memoize(m: Machine) -> None:
    if m.wanted[m.memoized]:
        m.memo[m.memoized] = m.stack[-1]
    m.memoized += 1


_HANDLERS: dict[int, Handler] = {
    0x80: _proto,
    0x95: _frame,
    ord("."): _stop,
    ord("("): _mark,
    ord("N"): _constant(None),
    0x88: _constant(True),
    0x89: _constant(False),
    ord("J"): _number(_INT),
    ord("K"): _binint1,
    ord("M"): _number(_UINT2),
    0x8A: _long1,
    ord("G"): _number(_FLOAT),
    0x8C: _short_text,
    ord("X"): _text(_UINT4),
    0x8D: _text(_UINT8),
    ord("C"): _short_bytes,
    ord(")"): _constant(()),
    ord("t"): _tuple,
    0x85: _tuple_of(1),
    0x86: _tuple_of(2),
    0x87: _tuple_of(3),
    ord("]"): lambda m: m.stack.append([]),
    ord("a"): _append,
    ord("e"): _appends,
    ord("}"): lambda m: m.stack.append({}),
    ord("s"): _setitem,
    ord("u"): _setitems,
    0x93: _stack_global,
    ord("c"): _text_global,
    ord("R"): Machine.build,
    0x81: Machine.build,
    ord("b"): _build_state,
    ord("h"): _get1,
    ord("j"): _get4,
    ord("q"): _put(Machine.uint1),
    ord("r"): _put(_index4),
    0x94: _memoize,
}
_TABLE = [_HANDLERS.get(code) for code in range(256)]
_DAMAGE = (IndexError, KeyError, TypeError, ValueError, struct.error)


def read_pickle(data: bytes, expected: Expected, folding: Folding | None = None) -> Any:
    """The value the pickle describes: containers, numbers, text, `Global` and `Node`.

    folding: what is made of nodes and dictionaries while they are read. Raises PickleRefused for
    anything cut, unknown or not allowed, and never any other error. Bytes after the end mark are
    ignored, as pickle.load ignores them.
    """
    machine = Machine(data, expected, folding or Folding())
    start = 0
    try:
        while True:
            if len(machine.stack) > MAX_STACK:
                raise ValueError("too many values on the stack")
            for _ in range(_OPCODES_A_ROUND):
                start = machine.pos
                machine.pos = start + 1
                handler = _TABLE[data[start]]
                if handler is None:
                    raise _unknown_opcode(expected, data[start], start)
                handler(machine)
                if machine.done:
                    return machine.pop()
    except _DAMAGE as error:
        reason = "it ends too early" if machine.pos >= len(data) else str(error) or "it is damaged"
        raise expected.refuses(
            f"the pickle cannot be read: {reason}", where=f"byte {start}"
        ) from error


def _unknown_opcode(expected: Expected, code: int, start: int) -> PickleRefused:
    # INST and OBJ call what they name; persistent ids and extension codes reach outside the file.
    unsafe = chr(code) in "ioPQ" or code in (0x82, 0x83, 0x84, 0x92)
    return expected.refuses(
        f"opcode 0x{code:02x} does not occur in {expected.what}",
        where=f"byte {start}",
        unsafe=unsafe,
    )
