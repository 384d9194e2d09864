"""Every file of a checkpoint by its kind: sizes, numbering, headers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from apps.checkpoints.domain.codes import CheckpointFinding, Code, named
from apps.checkpoints.domain.headers import dcp, jsons, ocdbt, torch_files, weights
from apps.checkpoints.domain.headers.base import CheckPolicy, Seen
from apps.checkpoints.domain.headers.weights import missing_numbers
from apps.checkpoints.domain.layouts.base import FoundStep
from apps.checkpoints.domain.reading import Source
from apps.core.words import many

# A file of another kind may be empty: scripts, locks, logs.
_NEEDED = (".safetensors", ".pt", ".pth", ".ckpt", ".bin", ".pkl", ".json", ".metadata", ".ocdbt")
_NEEDED_NAMES = frozenset(("_METADATA", "_CHECKPOINT_METADATA", "_sharding"))


@dataclass(frozen=True, slots=True)
class Looked:
    """What the contents of a checkpoint gave. skipped: a header was not looked at."""

    findings: tuple[CheckpointFinding, ...]
    unchecked: tuple[str, ...]
    skipped: bool


def check(
    found: FoundStep, source: Source, policy: CheckPolicy, lost: frozenset[str] = frozenset()
) -> Looked:
    """What is wrong with the files of one step, each after its kind. Never raises for content.

    lost: files that were there at commit and are not now.
    """
    seen = Seen(found, source, policy, lost)
    for name, stat in found.files.items():
        if stat.size == 0 and is_needed(name):
            seen.add(Code.ZERO_LENGTH, "empty", name)
    dcp.check(seen)
    weights.check(seen)
    torch_files.check(seen)
    jsons.check(seen)
    ocdbt.check(seen)
    return Looked(seen.gathered(), tuple(_not_looked_at(seen)), seen.skipped)


def _not_looked_at(seen: Seen) -> Iterator[str]:
    """What no header says, in words."""
    yield from seen.unchecked
    if seen.foreign:
        classes = sorted({name for names in seen.foreign.values() for name in names})
        files = sorted(seen.foreign)
        yield (
            f"{many(len(files), 'file')} ({files[0]}) with classes of other packages "
            f"({', '.join(classes[:3])}): loading runs their code; weights_only=True refuses them"
        )


def is_needed(name: str) -> bool:
    """Whether a file holds state or says what does; shards of DCP are looked at with theirs."""
    return name.endswith(_NEEDED) or name.rpartition("/")[2] in _NEEDED_NAMES


def numbering_gaps(names: Iterable[str]) -> list[CheckpointFinding]:
    """MISSING_SHARD for holes in `name-00002-of-00005.ext` numberings (numbers start at 1)."""
    return named(Code.MISSING_SHARD, "missing in the numbering", missing_numbers(names))
