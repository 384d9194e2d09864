"""Every file of a checkpoint by its kind: sizes, numbering, headers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from apps.checkpoints.domain.codes import CheckpointFinding, Code, named
from apps.checkpoints.domain.headers import dcp
from apps.checkpoints.domain.headers.base import CheckPolicy, Seen
from apps.checkpoints.domain.layouts.base import FoundStep
from apps.checkpoints.domain.reading import Source
from apps.core.words import many

_NUMBERED = re.compile(
    r"^(?P<stem>.*[-.])(?P<number>\d{5})-of-(?P<total>\d{5})(?P<end>(?:\.\w+)+)$"
)
_MAX_NUMBERED = 100_000
# A file of another kind may be empty: scripts, locks, logs.
_NEEDED = (".safetensors", ".pt", ".pth", ".ckpt", ".bin", ".pkl", ".json", ".metadata", ".ocdbt")
_NEEDED_NAMES = frozenset(("_METADATA", "_CHECKPOINT_METADATA", "_sharding"))


@dataclass(frozen=True, slots=True)
class Looked:
    """What the contents of a checkpoint gave. skipped: a header was not looked at."""

    findings: tuple[CheckpointFinding, ...]
    unchecked: tuple[str, ...]
    skipped: bool


def check(found: FoundStep, source: Source, policy: CheckPolicy) -> Looked:
    """What is wrong with the files of one step, each after its kind. Never raises for content."""
    seen = Seen(found, source, policy)
    for name, stat in found.files.items():
        if stat.size == 0 and is_needed(name):
            seen.add(Code.ZERO_LENGTH, "empty", name)
    seen.findings += numbering_gaps(found.files)
    dcp.check(seen)
    others = [name for name in found.files if name.endswith(_NEEDED[:6])]
    if others:
        seen.skipped = True
        seen.unchecked.append(f"the headers of {many(len(others), 'file')} beside DCP")
    return Looked(seen.gathered(), tuple(seen.unchecked), seen.skipped)


def is_needed(name: str) -> bool:
    """Whether a file holds state or says what does; shards of DCP are looked at with theirs."""
    return name.endswith(_NEEDED) or name.rpartition("/")[2] in _NEEDED_NAMES


def numbered(name: str) -> re.Match[str] | None:
    """The parts of `name-00002-of-00005.ext`: stem, number, total and end, or None."""
    match = _NUMBERED.match(name)
    return match if match and int(match["total"]) <= _MAX_NUMBERED else None


def numbering_gaps(names: Iterable[str]) -> list[CheckpointFinding]:
    """MISSING_SHARD for holes in `name-00002-of-00005.ext` numberings (numbers start at 1)."""
    groups: dict[tuple[str, int, str], set[int]] = {}
    for name in names:
        match = numbered(name)
        if match:
            group = (match["stem"], int(match["total"]), match["end"])
            groups.setdefault(group, set()).add(int(match["number"]))
    missing = [
        f"{stem}{number:05d}-of-{total:05d}{end}"
        for (stem, total, end), seen in groups.items()
        for number in range(1, total + 1)
        if number not in seen
    ]
    return named(Code.MISSING_SHARD, "missing in the numbering", missing)
