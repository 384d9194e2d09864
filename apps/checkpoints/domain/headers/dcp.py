"""Shards of a distributed checkpoint against the `.metadata` beside them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from apps.checkpoints.domain.codes import CheckpointFinding, Code, finding, named
from apps.checkpoints.domain.dcp_metadata import DcpMetadata, Item, parse_metadata
from apps.checkpoints.domain.headers import safetensors
from apps.checkpoints.domain.headers.base import Seen
from apps.checkpoints.domain.layouts.pytorch_dcp import MARKER, SHARD, folders_with_shards
from apps.checkpoints.domain.reading import Part, Unreadable, Vanished
from apps.checkpoints.domain.tree import FileStat, joined
from apps.core.pickles import PickleRefused

NEWER_NS = 2_000_000_000
"""A shard may be so much younger than its marker: the clocks of file servers differ."""
_START, _END, _END_BYTES = b"PK\x03\x04", b"PK\x05\x06", 22


def check(seen: Seen) -> None:
    """Every folder with shards, against its `.metadata`: sizes, coverage, times, and whether items
    begin and end where it says."""
    inside: dict[str, dict[str, FileStat]] = defaultdict(dict)
    for name, stat in seen.found.files.items():
        parent, _, last = name.rpartition("/")
        inside[parent][last] = stat
    for folder in folders_with_shards(seen.found.files):
        files = inside[folder]
        promised = None
        if files.get(MARKER, FileStat(0)).size:
            seen.findings += _newer(files)
            promised = _check_folder(seen, folder, files)
        for name, stat in files.items():
            if promised is None and name.endswith(SHARD) and stat.size == 0:
                seen.add(Code.ZERO_LENGTH, "empty", joined(folder, name))


def _check_folder(seen: Seen, folder: str, files: Mapping[str, FileStat]) -> DcpMetadata | None:
    """What the metadata promises, None if it could not be read."""
    name, size = joined(folder, MARKER), files[MARKER].size
    if size > seen.policy.max_metadata_bytes:
        limit = seen.policy.max_metadata_bytes
        seen.skip(f"of {size} bytes not parsed (limit {limit})", name)
        return None
    try:
        content = seen.source.one(seen.found.place(name), 0, size)
    except (Vanished, Unreadable) as error:
        seen.failed(error, name)
        return None
    sizes = {shard: stat.size for shard, stat in files.items()}
    findings, promised = against_metadata(sizes, content)
    seen.findings += findings
    if promised is not None:
        _magic(seen, folder, sizes, promised)
        loose = [joined(folder, n) for n in sorted(promised.loose) if sizes.get(n)]
        safetensors.headers(seen, loose)
    return promised


def against_metadata(
    files: Mapping[str, int], content: bytes
) -> tuple[list[CheckpointFinding], DcpMetadata | None]:
    """What the sizes of files contradict in the metadata, and what it promises if it can be read.

    files: names relative to the folder of the `.metadata`.
    """
    announced = files.get(MARKER)
    if announced is not None and announced != len(content):
        message = f".metadata came with {len(content)} bytes, the inventory says {announced}"
        return [finding(Code.METADATA_UNREADABLE, message)], None
    try:
        promised = parse_metadata(content)
    except PickleRefused as error:
        return [finding(Code.METADATA_UNREADABLE, f".metadata: {error}")], None
    what = "not covered by its stored chunks"
    uncovered = named(Code.COVERAGE, what, promised.uncovered, what="tensor")
    return [*_sizes(files, promised), *uncovered, *_foreign(files, promised)], promised


def _sizes(files: Mapping[str, int], promised: DcpMetadata) -> list[CheckpointFinding]:
    needed = promised.needed_bytes
    missing = [n for n in needed if n not in files]
    empty = [n for n, size in needed.items() if size and files.get(n) == 0]
    short = [n for n, size in needed.items() if 0 < files.get(n, 0) < size]
    known = needed.keys() - promised.loose
    long = [n for n in known if files.get(n, 0) > needed[n]]
    return [
        *named(Code.MISSING_SHARD, "named by .metadata but absent", missing),
        *named(Code.ZERO_LENGTH, "empty", empty),
        *named(Code.TRUNCATED, "shorter than .metadata says", short),
        *named(Code.SIZE_MISMATCH, "longer than .metadata says", long),
    ]


def _foreign(files: Mapping[str, int], promised: DcpMetadata) -> list[CheckpointFinding]:
    foreign = [n for n in files if n.endswith(SHARD) and n not in promised.needed_bytes]
    return named(Code.FOREIGN_SHARDS, "not named by .metadata", foreign)


def _newer(files: Mapping[str, FileStat]) -> list[CheckpointFinding]:
    """Shards written after the marker. Not in object stores: there copies run side by side, so that
    the order says nothing, and entity tags do."""
    marker = files[MARKER].mtime_ns
    if marker is None or files[MARKER].etag is not None:
        return []
    late = [
        name
        for name, stat in files.items()
        if name.endswith(SHARD) and stat.mtime_ns is not None and stat.mtime_ns > marker + NEWER_NS
    ]
    problem = (
        "written after .metadata: saved over an older checkpoint and not finished (it loads, with "
        "tensors of two saves), or copied without keeping the times"
    )
    return named(Code.SHARD_NEWER_THAN_MARKER, problem, late)


def _magic(seen: Seen, folder: str, sizes: Mapping[str, int], promised: DcpMetadata) -> None:
    """The first and the last item of each shard begin and end as what torch.save writes."""
    items = [
        (shard, item)
        for shard, edges in promised.edges.items()
        for item in dict.fromkeys(edges)
        if sizes.get(shard, 0) >= promised.needed_bytes[shard] and item.length > _END_BYTES
    ]
    parts = [
        part
        for shard, item in items
        for part in _ends(seen.found.place(joined(folder, shard)), item)
    ]
    got = seen.source.many(parts)
    for at, (shard, _) in enumerate(items):
        start, end = got[2 * at], got[2 * at + 1]
        name = joined(folder, shard)
        if not isinstance(start, bytes):
            seen.failed(start, name)
        elif not isinstance(end, bytes):
            seen.failed(end, name)
        elif start != _START or not end.startswith(_END):
            problem = "without a zip start or end where .metadata puts an item (a hole of zeros?)"
            seen.add(Code.BAD_MAGIC, problem, name)


def _ends(name: str, item: Item) -> tuple[Part, Part]:
    end = Part(name, item.offset + item.length - _END_BYTES, _END_BYTES)
    return Part(name, item.offset, len(_START)), end
