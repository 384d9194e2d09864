"""Is this checkpoint whole? Levels and findings from an inventory, without touching the storage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from apps.checkpoints.domain.codes import CheckpointFinding, Code, Level, finding, named
from apps.checkpoints.domain.contents import numbering_gaps
from apps.checkpoints.domain.headers.dcp import against_metadata
from apps.checkpoints.domain.headers.weights import numbered
from apps.checkpoints.domain.layouts.pytorch_dcp import MARKER, SHARD, is_rank_marker

# A file that a framework writes last, so that it stands for "all others are there".
# HF Trainer 5.24 and Orbax 0.12.8: seen with the real library; the others: their source code.
_LATE_FILES = {
    "trainer_state.json": "hf_trainer",
    "model.safetensors.index.json": "safetensors",
    "_CHECKPOINT_METADATA": "orbax",
}


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
    findings = (*_empty_files(files, files), *numbering_gaps(files))
    committed = framework != "unknown" and not any(f.fatal for f in findings)
    return Verification(Level.COMMITTED if committed else Level.LISTED, framework, findings)


def _framework(files: Mapping[str, int]) -> str:
    if any(_is_marker(name) or name.endswith(SHARD) for name in files):
        return "dcp"
    for name in files:
        known = _LATE_FILES.get(name.rpartition("/")[2])
        if known:
            return known
    if any(numbered(name) for name in files):
        return "safetensors"
    # Lightning writes one file and renames it into place.
    single = len(files) == 1 and next(iter(files)).endswith(".ckpt")
    return "lightning" if single else "unknown"


def _is_marker(name: str) -> bool:
    last = name.rpartition("/")[2]
    return last == MARKER or is_rank_marker(last)


def _verify_dcp(files: Mapping[str, int], metadata: bytes | None) -> Verification:
    markers = sorted((n for n in files if _is_marker(n)), key=lambda n: (n.count("/"), n))
    if not markers:
        message = "no .metadata file: the save was not finished, or its last rename was lost"
        findings = (finding(Code.NO_COMMIT_MARKER, message), *_empty_shards(files))
        return Verification(Level.LISTED, "dcp", findings)
    empty = (*_empty_files(files, markers), *_empty_shards(files))
    level = Level.LISTED if any(files[n] == 0 for n in markers) else Level.COMMITTED
    alone = markers[0].rpartition("/")[2] == MARKER
    if metadata is None or level is Level.LISTED or not alone:
        return Verification(level, "dcp", empty)
    root = markers[0].rpartition(MARKER)[0]
    below = {n[len(root) :]: size for n, size in files.items() if n.startswith(root)}
    findings = tuple(against_metadata(below, metadata)[0])
    whole = not any(f.fatal for f in findings)
    return Verification(Level.HEADERS_VERIFIED if whole else level, "dcp", findings)


def _empty_shards(files: Mapping[str, int]) -> list[CheckpointFinding]:
    return _empty_files(files, [n for n in files if n.endswith(SHARD)])


def _empty_files(
    files: Mapping[str, int], names: list[str] | Mapping[str, int]
) -> list[CheckpointFinding]:
    return named(Code.ZERO_LENGTH, "empty", [n for n in names if files[n] == 0])
