"""Writes a `.metadata` as PyTorch 2.13 pickles one, of as many tensors and ranks as wanted.

Opcode by opcode, because pickling a million objects would need gigabytes and torch itself. Every
tensor is cut along its first axis, one chunk a rank; each rank writes one file.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

_DCP: Final = "torch.distributed.checkpoint"
_BATCH: Final = 1_000
_ROWS, _COLUMNS = 16, 4_096
ITEM_BYTES: Final = _ROWS * _COLUMNS * 2 + 1_280
"""A chunk of bfloat16, and the zip around it."""


class _Pickle:
    """The opcodes of a pickle. known: what is memoized already -> its index."""

    def __init__(self) -> None:
        self.known: dict[object, int] = {}
        self.count = 0

    def memo(self, key: object = None) -> bytes:
        if key is not None:
            self.known[key] = self.count
        self.count += 1
        return b"\x94"

    def get(self, key: object) -> bytes:
        at = self.known[key]
        return b"h" + bytes((at,)) if at < 256 else b"j" + at.to_bytes(4, "little")

    def text(self, value: str) -> bytes:
        if value in self.known:
            return self.get(value)
        raw = value.encode()
        return b"\x8c" + bytes((len(raw),)) + raw + self.memo(value)

    def name(self, module: str, name: str) -> bytes:
        key = (module, name)
        if key in self.known:
            return self.get(key)
        return self.text(module) + self.text(name) + b"\x93" + self.memo(key)

    def empty(self, module: str, name: str) -> bytes:
        """An object without arguments, and the dictionary that will be its state."""
        return self.name(module, name) + b")\x81" + self.memo() + b"}" + self.memo() + b"("

    def size(self, *axes: int) -> bytes:
        head = self.name("torch", "Size") + b"".join(map(_number, axes))
        return head + b"\x86" + self.memo() + b"\x85" + self.memo() + b"R" + self.memo()


def _number(value: int) -> bytes:
    if value < 256:
        return b"K" + bytes((value,))
    if value < 65_536:
        return b"M" + value.to_bytes(2, "little")
    if value < 2**31:
        return b"J" + value.to_bytes(4, "little")
    return b"\x8a\x08" + value.to_bytes(8, "little", signed=True)


def metadata(tensors: int, ranks: int) -> Iterator[bytes]:
    """The parts of the file, one after the other."""
    out = _Pickle()
    yield b"\x80\x04" + out.empty(f"{_DCP}.metadata", "Metadata")
    yield out.text("state_dict_metadata") + b"}" + out.memo()
    yield from _batches(_tensor(out, at, ranks) for at in range(tensors))
    yield out.text("planner_data") + b"N" + out.text("storage_data") + b"}" + out.memo()
    yield from _batches(_stored(out, at, rank) for at in range(tensors) for rank in range(ranks))
    yield out.text("storage_meta") + b"N" + out.text("version") + out.text("1.0.0") + b"ub."


def _batches(items: Iterator[bytes]) -> Iterator[bytes]:
    """The entries of a dictionary, a thousand at a time, as pickle writes them."""
    for at, item in enumerate(items):
        yield (b"u(" if at % _BATCH == 0 and at else b"(" if at == 0 else b"") + item
    yield b"u"


def _called(at: int) -> str:
    return f"model.layers.{at // 9}.module_{at % 9}.weight"


def _tensor(out: _Pickle, at: int, ranks: int) -> bytes:
    parts = [out.text(_called(at)), out.empty(f"{_DCP}.metadata", "TensorStorageMetadata")]
    parts += [out.text("size"), out.size(_ROWS * ranks, _COLUMNS)]
    parts += [out.text("chunks"), b"]", out.memo(), b"("]
    for rank in range(ranks):
        parts.append(out.empty(f"{_DCP}.metadata", "ChunkStorageMetadata"))
        parts += [out.text("offsets"), out.size(_ROWS * rank, 0)]
        parts += [out.text("sizes"), out.size(_ROWS, _COLUMNS), b"ub"]
    return b"".join((*parts, b"eub"))


def _stored(out: _Pickle, at: int, rank: int) -> bytes:
    return b"".join(
        (
            out.empty(f"{_DCP}.metadata", "MetadataIndex"),
            *(out.text("fqn"), out.text(_called(at)), out.text("offset")),
            *(out.size(_ROWS * rank, 0), out.text("index"), _number(rank), b"ub"),
            out.empty(f"{_DCP}.filesystem", "_StorageInfo"),
            *(out.text("relative_path"), out.text(f"__{rank}_0.distcp")),
            *(
                out.text("offset"),
                _number(at * ITEM_BYTES),
                out.text("length"),
                _number(ITEM_BYTES),
            ),
            b"ub",
        )
    )
