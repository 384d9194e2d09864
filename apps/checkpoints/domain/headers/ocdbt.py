"""The key-value trees that Orbax keeps arrays in: a manifest, and the data files that it needs.

Nothing else of Orbax names these files: one that is gone is noticed by its restore. The manifest
names the newest root node; that node names every data file below it and, in a tree of one level,
how far each value reaches. Deeper nodes are not read. Source: the OCDBT storage format of
TensorStore; orbax 0.12.8, run.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import zstandard

from apps.checkpoints.domain.codes import Code
from apps.checkpoints.domain.headers.base import Problem, Seen
from apps.checkpoints.domain.reading import Part
from apps.checkpoints.domain.tree import joined

MANIFEST = "manifest.ocdbt"
_OF_PROCESS = "ocdbt.process_"
_MANIFEST_MAGIC, _NODE_MAGIC = bytes.fromhex("0cdb3a2a"), bytes.fromhex("0cdb20de")
_HEAD = struct.Struct("<4sQBB")
_CHECKSUM_BYTES = 4
_MAX_BYTES = 16 * 1024 * 1024
_MAX_FILES = 1_000_000
_UUID_BYTES, _LEVEL_BYTES = 16, 4
_INLINE, _ZSTD, _INDIRECT = 0, 1, 1


_Meaning = TypeVar("_Meaning")


@dataclass(frozen=True, slots=True)
class Root:
    """Where the newest root node lies. file: relative to the folder of the manifest."""

    file: str
    offset: int
    length: int


class _Fields:
    """The fields of a node, one after the other. Raises IndexError and ValueError."""

    def __init__(self, body: bytes) -> None:
        self.body = body
        self.at = 0

    def byte(self) -> int:
        self.at += 1
        return self.body[self.at - 1]

    def skip(self, count: int) -> None:
        self.at += count

    def number(self) -> int:
        value, shift = 0, 0
        while True:
            part = self.byte()
            value |= (part & 0x7F) << shift
            if part < 0x80:
                return value
            shift += 7
            if shift > 63:
                raise ValueError("a number of more than 64 bits")

    def numbers(self, count: int) -> list[int]:
        if count > len(self.body) - self.at:
            raise ValueError("more numbers than bytes")
        return [self.number() for _ in range(count)]

    def text(self, length: int) -> str:
        start, self.at = self.at, self.at + length
        if self.at > len(self.body):
            raise IndexError("cut")
        return self.body[start : self.at].decode()

    def files(self) -> list[str]:
        """The table of data files: names that share their beginnings."""
        count = self.number()
        if count > _MAX_FILES:
            raise ValueError("too many files")
        shared = [0, *self.numbers(max(0, count - 1))][:count]
        own = self.numbers(count)
        self.numbers(count)
        names: list[str] = []
        for keep, length in zip(shared, own, strict=True):
            before = names[-1][:keep] if names else ""
            names.append(before + self.text(length))
        return names


def check(seen: Seen) -> None:
    """Every tree of an item: the manifest is whole, and the files that its root needs are there."""
    for name, stat in seen.found.files.items():
        folder, _, last = name.rpartition("/")
        inner = folder.rpartition("/")[2].startswith(_OF_PROCESS)
        if last == MANIFEST and not inner and stat.size:
            body = _read(seen, name, Part(name, 0, stat.size), _MANIFEST_MAGIC)
            root = _understood(seen, name, newest_root, body)
            if root is not None:
                _check_root(seen, folder, root)


def _check_root(seen: Seen, folder: str, root: Root) -> None:
    name, end = joined(folder, root.file), root.offset + root.length
    _check_file(seen, name, end)
    stat = seen.found.files.get(name)
    if stat is None or stat.size < end:
        return
    body = _read(seen, name, Part(name, root.offset, root.length), _NODE_MAGIC)
    for data, reach in (_understood(seen, name, needs, body) or {}).items():
        _check_file(seen, joined(folder, data), reach)
    if body and body[0]:
        seen.unchecked.append(f"the inner nodes of the tree of arrays in {folder}")


def _read(seen: Seen, name: str, part: Part, magic: bytes) -> bytes | None:
    """The body of a manifest or a node; None, with what is wrong noted, if there is none."""
    if part.length > _MAX_BYTES:
        seen.skip("with a tree of arrays too large to be parsed", name)
        return None
    try:
        for content in seen.read([part]).values():
            return _body(content, part.length, magic)
    except Problem as error:
        seen.skipped |= error.code is Code.UNCHECKED
        seen.add(error.code, error.problem, name)
    return None


def _understood(
    seen: Seen, name: str, understand: Callable[[bytes], _Meaning], body: bytes | None
) -> _Meaning | None:
    try:
        return None if body is None else understand(body)
    except Problem as error:
        seen.add(error.code, error.problem, name)
        return None


def _check_file(seen: Seen, name: str, end: int) -> None:
    stat = seen.found.files.get(name)
    if stat is None and name in seen.lost:
        return
    if stat is None:
        seen.add(Code.MISSING_SHARD, "named by the tree of its arrays but absent", name)
    elif stat.size == 0 and end:
        seen.add(Code.ZERO_LENGTH, "empty", name)
    elif stat.size < end:
        seen.add(Code.TRUNCATED, "shorter than the tree of its arrays says", name)


def _body(content: bytes, size: int, magic: bytes) -> bytes:
    """What a manifest or a node holds, unpacked. size: bytes that there are of it."""
    if len(content) < _HEAD.size:
        raise Problem(Code.TRUNCATED, "shorter than its header")
    found, length, version, packing = _HEAD.unpack_from(content)
    if found != magic:
        raise Problem(Code.BAD_MAGIC, "that is no tree of arrays")
    if length > min(size, len(content)):
        raise Problem(Code.TRUNCATED, "shorter than its header says")
    if length < size:
        raise Problem(Code.SIZE_MISMATCH, "longer than its header says")
    if version or packing not in (_INLINE, _ZSTD):
        raise Problem(Code.UNCHECKED, "of a version that is not known")
    body = content[_HEAD.size : length - _CHECKSUM_BYTES]
    if packing == _INLINE:
        return body
    try:
        unpacked = zstandard.ZstdDecompressor().decompressobj().decompress(body)
    except zstandard.ZstdError as error:
        raise Problem(Code.BAD_HEADER, "that cannot be unpacked") from error
    return unpacked


def newest_root(body: bytes) -> Root | None:
    """The root node of the newest version in a manifest; None if it holds none.

    Raises Problem with BAD_HEADER.
    """
    try:
        fields = _Fields(body)
        fields.skip(_UUID_BYTES)
        kind, _, _ = fields.number(), fields.number(), fields.number()
        fields.skip(1)
        if fields.number() == _ZSTD:
            fields.skip(_LEVEL_BYTES)
        if kind:
            return None
        files, versions = fields.files(), fields.number()
        fields.numbers(versions)
        fields.skip(versions)
        ids, offsets, lengths = (fields.numbers(versions) for _ in range(3))
        return Root(files[ids[-1]], offsets[-1], lengths[-1]) if versions else None
    except (IndexError, ValueError) as error:
        raise Problem(Code.BAD_HEADER, "that cannot be parsed") from error


def needs(body: bytes) -> dict[str, int]:
    """Data file -> bytes it must at least have, by a node. Of a node above others only that the
    files must be there: 0. Raises Problem with BAD_HEADER."""
    try:
        fields = _Fields(body)
        height, files = fields.byte(), fields.files()
        needed = dict.fromkeys(files, 0)
        if height == 0:
            for file, end in _values(fields, files):
                needed[file] = max(needed[file], end)
        return needed
    except (IndexError, ValueError) as error:
        raise Problem(Code.BAD_HEADER, "with a node that cannot be parsed") from error


def _values(fields: _Fields, files: Sequence[str]) -> list[tuple[str, int]]:
    """(file, end in it) of each value that is kept outside the node."""
    entries = fields.number()
    fields.numbers(max(0, entries - 1))
    fields.skip(sum(fields.numbers(entries)))
    lengths, kinds = fields.numbers(entries), [fields.byte() for _ in range(entries)]
    outside = [at for at, kind in enumerate(kinds) if kind == _INDIRECT]
    ids, offsets = fields.numbers(len(outside)), fields.numbers(len(outside))
    return [
        (files[file], offset + lengths[at])
        for at, file, offset in zip(outside, ids, offsets, strict=True)
    ]
