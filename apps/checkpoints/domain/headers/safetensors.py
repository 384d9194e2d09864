"""Safetensors files: an 8-byte length, a JSON header, and tensors up to the end of the file.

Source: the safetensors format; its reader refuses holes and headers above 100 MB.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Any, NamedTuple

import orjson

from apps.checkpoints.domain.codes import Code
from apps.checkpoints.domain.headers.base import Problem, Seen, windows
from apps.checkpoints.domain.reading import Part

_LENGTH = struct.Struct("<Q")
_MAX_DIMENSIONS = 64
# Half bytes: two values of the 4-bit types share one byte.
_BITS = {
    **dict.fromkeys(("BOOL", "U8", "I8", "F8_E5M2", "F8_E4M3", "F8_E8M0"), 8),
    **dict.fromkeys(("I16", "U16", "F16", "BF16"), 16),
    **dict.fromkeys(("I32", "U32", "F32"), 32),
    **dict.fromkeys(("I64", "U64", "F64", "C64"), 64),
    "F4": 4,
    "F6_E2M3": 6,
    "F6_E3M2": 6,
}


class Tensor(NamedTuple):
    """shape: empty for a scalar. start, end: its bytes, counted from the end of the header."""

    dtype: str
    shape: tuple[int, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Header:
    """tensors: name -> tensor. metadata: free text of the writer. end: length of the file by it."""

    tensors: dict[str, Tensor]
    metadata: dict[str, str]
    end: int


def header_end(head: bytes, size: int, limit: int) -> int:
    """Where the header ends, from the first 8 bytes of a file of `size` bytes.

    Raises Problem: TRUNCATED if the file ends before, BAD_HEADER if there is none.
    """
    if len(head) < _LENGTH.size:
        raise Problem(Code.TRUNCATED, "shorter than its header")
    length: int = _LENGTH.unpack_from(head)[0]
    if length < 2 or length > limit:
        raise Problem(Code.BAD_HEADER, "without a header that can be read")
    if _LENGTH.size + length > size:
        raise Problem(Code.TRUNCATED, "shorter than its header")
    return _LENGTH.size + length


def parse(head: bytes) -> Header:
    """The header of a file that begins with `head`, which holds all of it.

    Raises Problem with BAD_HEADER, and nothing else.
    """
    end = _LENGTH.size + int(_LENGTH.unpack_from(head)[0])
    try:
        fields = orjson.loads(head[_LENGTH.size : end])
        metadata = fields.pop("__metadata__", None) or {}
        tensors = {name: _tensor(entry) for name, entry in fields.items()}
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise Problem(Code.BAD_HEADER, "with a header that cannot be parsed") from error
    last = max((tensor.end for tensor in tensors.values()), default=0)
    texts = metadata if isinstance(metadata, dict) else {}
    return Header(tensors, {k: v for k, v in texts.items() if isinstance(v, str)}, end + last)


def _tensor(entry: Any) -> Tensor:
    dtype, shape, (start, end) = entry["dtype"], tuple(entry["shape"]), entry["data_offsets"]
    for value in (*shape, start, end):
        if type(value) is not int or not 0 <= value < 2**63:
            raise ValueError("expected a count")
    if start > end or len(shape) > _MAX_DIMENSIONS or not isinstance(dtype, str):
        raise ValueError("offsets or shape of a tensor")
    return Tensor(dtype, shape, start, end)


def problems(header: Header, size: int) -> list[tuple[Code, str, str]]:
    """(code, problem, name of the tensor or "") of a header against the size of its file."""
    told: list[tuple[Code, str, str]] = []
    if size < header.end:
        told.append((Code.TRUNCATED, "shorter than its header says", ""))
    elif size > header.end:
        told.append((Code.SIZE_MISMATCH, "longer than its header says", ""))
    problem = "of a size that its type and shape do not make"
    told += [(Code.COVERAGE, problem, n) for n, t in header.tensors.items() if not _fits(t)]
    rows = sorted((t.start, t.end) for t in header.tensors.values())
    if rows and (rows[0][0] or any(a[1] != b[0] for a, b in pairwise(rows))):
        told.append((Code.COVERAGE, "with holes or overlaps between its tensors", ""))
    return told


def _fits(tensor: Tensor) -> bool:
    """A type that is newer than this table is not judged."""
    bits = _BITS.get(tensor.dtype)
    return bits is None or prod(tensor.shape) * bits == 8 * (tensor.end - tensor.start)


def headers(seen: Seen, names: Sequence[str]) -> dict[str, Header]:
    """The headers of files, as far as they can be read; what is wrong with them is added to `seen`.

    One read for each file, a second one where its header is larger than policy.header_bytes.
    """
    good: dict[str, Header] = {}
    for window in windows(names):
        heads = _heads(seen, window)
        for name, head in heads.items():
            try:
                header = parse(head)
            except Problem as error:
                seen.add(error.code, error.problem, name)
                continue
            good[name] = header
            for code, problem, tensor in problems(header, seen.found.files[name].size):
                seen.add(code, problem, tensor or name, "tensor" if tensor else "file")
    return good


def _heads(seen: Seen, names: Sequence[str]) -> dict[str, bytes]:
    """The beginning of each file, as far as its header goes."""
    first = seen.read([Part(name, 0, seen.policy.header_bytes) for name in names])
    whole: dict[str, bytes] = {}
    more: list[Part] = []
    for name, head in first.items():
        try:
            end = header_end(head, seen.found.files[name].size, seen.policy.max_header_bytes)
        except Problem as error:
            seen.add(error.code, error.problem, name)
            continue
        if end <= len(head):
            whole[name] = head[:end]
        else:
            more.append(Part(name, 0, end))
    for part in more:
        for name, head in seen.read([part]).items():
            if len(head) == part.length:
                whole[name] = head
            else:
                seen.add(Code.TRUNCATED, "shorter than its header", name)
    return whole
