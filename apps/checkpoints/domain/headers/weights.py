"""Safetensors files of a step together: headers, indexes, numbering, shards of ranks."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from math import prod
from typing import Any

import orjson

from apps.checkpoints.domain.codes import Code
from apps.checkpoints.domain.headers import safetensors
from apps.checkpoints.domain.headers.base import Seen
from apps.checkpoints.domain.headers.safetensors import Header
from apps.checkpoints.domain.layouts.dcp_hf import SHARD_NAME
from apps.checkpoints.domain.reading import Part
from apps.checkpoints.domain.tree import joined

_END = ".safetensors"
_INDEX = re.compile(r"(?:.*/)?[^/]+\.(?:safetensors|bin)\.index\.json")
_NUMBERED = re.compile(
    r"^(?P<stem>.*[-.])(?P<number>\d{5})-of-(?P<total>\d{5})(?P<end>(?:\.\w+)+)$"
)
_MAX_NUMBERED = 100_000
MAX_MISSING = 10_000
"""Missing files that are told: names that lie may speak of many more."""
_SHARDING = "DCP_SHARDING_INFO"

Box = tuple[tuple[int, ...], tuple[int, ...]]
"""Where a piece of a tensor begins in it, and its shape."""


def check(seen: Seen) -> None:
    """Every safetensors header, what indexes name, what the numbering lacks, what ranks cover."""
    files = seen.found.files
    names = [n for n, stat in files.items() if n.endswith(_END) and stat.size]
    headers = safetensors.headers(seen, names)
    absent: set[str] = set()
    for index in (name for name in files if _INDEX.fullmatch(name)):
        absent |= _check_index(seen, index, headers)
    for name in missing_numbers(files):
        if name not in absent:
            seen.add(Code.MISSING_SHARD, "missing in the numbering", name)
    _check_ranks(seen, headers)


def _check_index(seen: Seen, index: str, headers: Mapping[str, Header]) -> set[str]:
    """Files that the index names and that are not there."""
    folder = index.rpartition("/")[0]
    weights = _weight_map(seen, index)
    absent = {joined(folder, file) for file in weights.values()} - seen.found.files.keys()
    for name in absent:
        seen.add(Code.MISSING_SHARD, "named by the index but absent", name)
    for tensor, file in weights.items():
        header = headers.get(joined(folder, file))
        if header is not None and tensor not in header.tensors:
            problem = "named by the index but not in its file"
            seen.add(Code.MISSING_TENSOR, problem, tensor, "tensor")
    return absent


def _weight_map(seen: Seen, index: str) -> dict[str, str]:
    """Tensor -> file; empty, with a finding, if the index cannot be read."""
    size = seen.found.files[index].size
    if size == 0:
        return {}
    if size > seen.policy.max_header_bytes:
        seen.skip("too large to be parsed", index)
        return {}
    try:
        for content in seen.read([Part(index, 0, size)]).values():
            fields: Any = orjson.loads(content)
            weights = fields["weight_map"]
            if all(isinstance(text, str) for pair in weights.items() for text in pair):
                return dict(weights)
            raise TypeError("an index of something else")
    except (ValueError, TypeError, KeyError, AttributeError):
        seen.add(Code.BAD_HEADER, "that is no index of weights", index)
    return {}


def missing_numbers(names: Iterable[str]) -> list[str]:
    """The holes in `name-00002-of-00005.ext` numberings; numbers start at 1. Shards of ranks are
    not numbered like this: a rank writes only what it holds."""
    groups: dict[tuple[str, int, str], set[int]] = defaultdict(set)
    for name in names:
        match = numbered(name)
        if match and not SHARD_NAME.fullmatch(name.rpartition("/")[2]):
            groups[match["stem"], int(match["total"]), match["end"]].add(int(match["number"]))
    missing = (
        f"{stem}{number:05d}-of-{total:05d}{end}"
        for (stem, total, end), seen in groups.items()
        for number in range(1, total + 1)
        if number not in seen
    )
    return list(islice(missing, MAX_MISSING))


def numbered(name: str) -> re.Match[str] | None:
    """The parts of `name-00002-of-00005.ext`: stem, number, total and end, or None."""
    match = _NUMBERED.match(name)
    return match if match and int(match["total"]) <= _MAX_NUMBERED else None


def _check_ranks(seen: Seen, headers: Mapping[str, Header]) -> None:
    """What the shards of ranks do not cover: files that are missing among them, else tensors.

    Where one of them cannot be read, that is known already, and what it covers is not.
    """
    of_ranks = {n for n in seen.found.files if _is_shard(n)}
    if not of_ranks or of_ranks - headers.keys():
        return
    shards = {name: headers[name] for name in of_ranks}
    known = {
        tensor: entry.shape
        for name, header in headers.items()
        if name not in shards
        for tensor, entry in header.tensors.items()
    }
    boxes: dict[str, set[Box]] = defaultdict(set)
    for name, header in shards.items():
        for tensor, box in _boxes(header):
            if box is None:
                seen.add(Code.BAD_HEADER, f"with a {_SHARDING} that does not fit", name)
            else:
                boxes[tensor].add(box)
    bare = [tensor for tensor, own in boxes.items() if not covers(own, known.get(tensor))]
    holes = _holes(shards) if bare else []
    for name in holes:
        seen.add(Code.MISSING_SHARD, "missing among the shards of ranks", name)
    for tensor in bare if not holes else ():
        seen.add(Code.COVERAGE, "not covered by the shards of ranks", tensor, "tensor")


def _is_shard(name: str) -> bool:
    return bool(SHARD_NAME.fullmatch(name.rpartition("/")[2]))


def _boxes(header: Header) -> list[tuple[str, Box | None]]:
    try:
        offsets: Any = orjson.loads(header.metadata.get(_SHARDING, "{}"))
        return [
            (name, (_offsets(offsets[name], len(tensor.shape)), tensor.shape))
            for name, tensor in header.tensors.items()
            if name in offsets
        ]
    except (ValueError, TypeError, KeyError):
        return [("", None)]


def _offsets(entry: Any, dimensions: int) -> tuple[int, ...]:
    offsets = tuple(entry["saved_offsets"])
    if len(offsets) != dimensions or any(type(at) is not int or at < 0 for at in offsets):
        raise ValueError("offsets of another tensor")
    return offsets


def covers(boxes: Iterable[Box], shape: Sequence[int] | None) -> bool:
    """Whether pieces that do not overlap fill a tensor; of unknown shape, the box around them."""
    own = list(boxes)
    corners = [tuple(map(sum, zip(*box, strict=True))) for box in own]
    around = tuple(max(axis) for axis in zip(*corners, strict=False)) if corners else ()
    whole = tuple(shape) if shape is not None else around
    return around == whole and sum(prod(size) for _, size in own) == prod(whole)


def _holes(names: Iterable[str]) -> list[str]:
    """Files missing in the grid of rank x number that shards of ranks make."""
    grids: dict[str, set[tuple[int, str]]] = defaultdict(set)
    for name in names:
        folder, _, last = name.rpartition("/")
        match = SHARD_NAME.fullmatch(last)
        if match:
            grids[folder].add((int(match["rank"]), match["whole"]))
    missing = (
        joined(folder, f"shard-{rank:05d}-{whole}")
        for folder, present in grids.items()
        for rank in range(1, max(rank for rank, _ in present) + 1)
        for whole in sorted({whole for _, whole in present})
        if (rank, whole) not in present
    )
    return list(islice(missing, MAX_MISSING))
