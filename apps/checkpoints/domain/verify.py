"""Is this checkpoint whole? Levels and findings from an inventory, without touching the storage."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from apps.checkpoints.domain.dcp_metadata import DcpMetadata, parse_metadata
from apps.checkpoints.domain.pickle_reader import PickleRefused

MAX_NAMED = 5
_MARKER = ".metadata"
_RANK_MARKER = re.compile(r"(?:^|/)__\d+\.metadata$")
_SHARD = ".distcp"
_NUMBERED = re.compile(r"^(?P<stem>.*)-(?P<number>\d{5})-of-(?P<total>\d{5})(?P<end>\.\w+)$")
# A file that a framework writes last, so that it stands for "all others are there".
# HF Trainer 5.24 and Orbax 0.12.8: seen with the real library; the others: their source code.
_LATE_FILES = {
    "trainer_state.json": "hf_trainer",
    "model.safetensors.index.json": "safetensors",
    "_CHECKPOINT_METADATA": "orbax",
}


class Level(StrEnum):
    """How far a checkpoint was checked. Each level includes those before it.

    hash_verified: every byte was read and agrees with a digest taken before. restored: a training
    process said that it has loaded it.
    """

    LISTED = "listed"
    COMMITTED = "committed"
    HEADERS_VERIFIED = "headers_verified"
    HASH_VERIFIED = "hash_verified"
    RESTORED = "restored"


class Code(StrEnum):
    """What can be wrong with a checkpoint. The codes are stored."""

    NO_COMMIT_MARKER = "NO_COMMIT_MARKER"
    METADATA_UNREADABLE = "METADATA_UNREADABLE"
    UNSAFE_PICKLE = "UNSAFE_PICKLE"
    ZERO_LENGTH = "ZERO_LENGTH"
    MISSING_SHARD = "MISSING_SHARD"
    TRUNCATED = "TRUNCATED"
    SIZE_MISMATCH = "SIZE_MISMATCH"
    COVERAGE = "COVERAGE"
    FOREIGN_SHARDS = "FOREIGN_SHARDS"
    INVENTORY_MISMATCH = "INVENTORY_MISMATCH"
    UNCHECKED = "UNCHECKED"
    STEP_MISMATCH = "STEP_MISMATCH"
    REWRITTEN = "REWRITTEN"


_WARNINGS = frozenset(
    (
        Code.SIZE_MISMATCH,
        Code.FOREIGN_SHARDS,
        Code.UNCHECKED,
        Code.STEP_MISMATCH,
        # Where scratch storage is purged people touch their files: a later time proves nothing.
        Code.REWRITTEN,
    )
)


@dataclass(frozen=True, slots=True)
class CheckpointFinding:
    """One thing that is wrong. fatal: the checkpoint must not be restored because of it."""

    code: str
    message: str
    fatal: bool

    def as_json(self) -> dict[str, Any]:
        """The finding as it is stored and sent."""
        return {"code": self.code, "message": self.message, "fatal": self.fatal}


@dataclass(frozen=True, slots=True)
class Verification:
    """The result of a check. complete: committed, and nothing fatal was found."""

    level: Level
    framework: str
    findings: tuple[CheckpointFinding, ...]

    @property
    def complete(self) -> bool:
        """Whether the checkpoint may be offered for a restore."""
        return self.level is not Level.LISTED and not any(f.fatal for f in self.findings)


def finding(code: Code, message: str) -> CheckpointFinding:
    """A finding whose `fatal` follows from its code."""
    return CheckpointFinding(code.value, printable(message), code not in _WARNINGS)


def printable(text: str) -> str:
    """The text without what Postgres or a terminal cannot hold: NUL and lone surrogates escaped."""
    return text.encode("utf-8", "backslashreplace").decode().replace("\x00", "\\0")


def verify(files: Mapping[str, int], metadata: bytes | None = None) -> Verification:
    """What an inventory, and the content of its `.metadata` file if known, prove.

    files: name -> bytes, names relative to the directory of the step. metadata: the bytes of the
    DCP `.metadata` file. Level listed: names and sizes are known. committed: the marker that the
    framework writes last is there and not empty. headers_verified: every file that the metadata
    names has at least the promised size, and every tensor is covered. Never raises for bad input:
    that is a finding. Not visible here: flipped bits, zeros inside a file, modification times.
    """
    framework = _framework(files)
    if framework == "dcp":
        return _verify_dcp(files, metadata)
    findings = (*_empty_files(files, files), *_gaps(files))
    committed = framework != "unknown" and not any(f.fatal for f in findings)
    return Verification(Level.COMMITTED if committed else Level.LISTED, framework, findings)


def _framework(files: Mapping[str, int]) -> str:
    if any(_is_marker(name) or name.endswith(_SHARD) for name in files):
        return "dcp"
    for name in files:
        known = _LATE_FILES.get(name.rpartition("/")[2])
        if known:
            return known
    if any(_NUMBERED.match(name) for name in files):
        return "safetensors"
    # Lightning writes one file and renames it into place.
    single = len(files) == 1 and next(iter(files)).endswith(".ckpt")
    return "lightning" if single else "unknown"


def _is_marker(name: str) -> bool:
    return name.rpartition("/")[2] == _MARKER or bool(_RANK_MARKER.search(name))


def _verify_dcp(files: Mapping[str, int], metadata: bytes | None) -> Verification:
    markers = sorted((n for n in files if _is_marker(n)), key=lambda n: (n.count("/"), n))
    if not markers:
        message = "no .metadata file: the save was not finished, or its last rename was lost"
        findings = (finding(Code.NO_COMMIT_MARKER, message), *_empty_shards(files))
        return Verification(Level.LISTED, "dcp", findings)
    empty = (*_empty_files(files, markers), *_empty_shards(files))
    level = Level.LISTED if any(files[n] == 0 for n in markers) else Level.COMMITTED
    alone = markers[0].rpartition("/")[2] == _MARKER
    if metadata is None or level is Level.LISTED or not alone:
        return Verification(level, "dcp", empty)
    root = markers[0].rpartition(_MARKER)[0]
    below = {n[len(root) :]: size for n, size in files.items() if n.startswith(root)}
    findings = _against_metadata(below, metadata)
    whole = not any(f.fatal for f in findings)
    return Verification(Level.HEADERS_VERIFIED if whole else level, "dcp", findings)


def _against_metadata(files: Mapping[str, int], content: bytes) -> tuple[CheckpointFinding, ...]:
    announced = files.get(_MARKER)
    if announced is not None and announced != len(content):
        message = f".metadata came with {len(content)} bytes, the inventory says {announced}"
        return (finding(Code.METADATA_UNREADABLE, message),)
    try:
        promised = parse_metadata(content)
    except PickleRefused as error:
        unreadable = finding(Code.METADATA_UNREADABLE, f".metadata: {error}")
        if not error.unsafe:
            return (unreadable,)
        return (unreadable, finding(Code.UNSAFE_PICKLE, f".metadata: {error.message}"))
    return (*_sizes(files, promised), *_coverage(promised), *_foreign(files, promised))


def _sizes(files: Mapping[str, int], promised: DcpMetadata) -> list[CheckpointFinding]:
    needed = promised.needed_bytes
    missing = [n for n in needed if n not in files]
    empty = [n for n, size in needed.items() if size and files.get(n) == 0]
    short = [n for n, size in needed.items() if 0 < files.get(n, 0) < size]
    long = [n for n, size in needed.items() if files.get(n, 0) > size]
    return [
        *_named(Code.MISSING_SHARD, "named by .metadata but absent", missing),
        *_named(Code.ZERO_LENGTH, "empty", empty),
        *_named(Code.TRUNCATED, "shorter than .metadata says", short),
        *_named(Code.SIZE_MISMATCH, "longer than .metadata says", long),
    ]


def _coverage(promised: DcpMetadata) -> list[CheckpointFinding]:
    return _named(
        Code.COVERAGE, "not covered by its stored chunks", promised.uncovered, what="tensor"
    )


def _foreign(files: Mapping[str, int], promised: DcpMetadata) -> list[CheckpointFinding]:
    foreign = [n for n in files if n.endswith(_SHARD) and n not in promised.needed_bytes]
    return _named(Code.FOREIGN_SHARDS, "not named by .metadata", foreign)


def _empty_shards(files: Mapping[str, int]) -> list[CheckpointFinding]:
    return _empty_files(files, [n for n in files if n.endswith(_SHARD)])


def _empty_files(
    files: Mapping[str, int], names: list[str] | Mapping[str, int]
) -> list[CheckpointFinding]:
    return _named(Code.ZERO_LENGTH, "empty", [n for n in names if files[n] == 0])


def _gaps(files: Mapping[str, int]) -> list[CheckpointFinding]:
    """MISSING_SHARD for holes in `name-00002-of-00005.ext` numberings (numbers start at 1)."""
    groups: dict[tuple[str, int, str], set[int]] = {}
    for name in files:
        match = _NUMBERED.match(name)
        if match:
            group = (match["stem"], int(match["total"]), match["end"])
            groups.setdefault(group, set()).add(int(match["number"]))
    missing = [
        f"{stem}-{number:05d}-of-{total:05d}{end}"
        for (stem, total, end), seen in groups.items()
        for number in range(1, total + 1)
        if number not in seen
    ]
    return _named(Code.MISSING_SHARD, "missing in the numbering", missing)


def _named(
    code: Code, problem: str, names: list[str] | tuple[str, ...], *, what: str = "file"
) -> list[CheckpointFinding]:
    """At most one finding per code: count, problem and the first names; [] without names."""
    if not names:
        return []
    shown = ", ".join(name[:200] for name in sorted(names)[:MAX_NAMED])
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    plural = what if len(names) == 1 else f"{what}s"
    return [finding(code, f"{len(names)} {plural} {problem}: {shown}{more}")]
