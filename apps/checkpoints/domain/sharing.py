"""Do several hosts see one folder, or each only its own files?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from apps.checkpoints.domain.codes import MAX_NAMED, CheckpointFinding, Code, finding
from apps.core.words import many


def non_shared(listings: Sequence[Mapping[str, int]]) -> CheckpointFinding | None:
    """NON_SHARED_STORAGE if every listing has files that the first lacks, lacks files of the first,
    and agrees with it on the sizes of the others; None if they contradict or complete each other.

    listings: file name -> bytes of one checkpoint, each as another host told it. A save with fewer
    ranks over an older one has a part of its names, and one with other contents other sizes.
    Source: SimDINO#24, `.metadata` on the first host alone.
    """
    first, *others = listings
    if not others or not all(_apart(first, other) for other in others):
        return None
    own = [name for name in sorted(first) if any(name not in other for other in others)]
    foreign = sorted({name for other in others for name in other} - first.keys())
    text = (
        f"{many(len(listings), 'list')} of its files differ: {_shown(own)} only in the first, "
        f"{_shown(foreign)} only in another; the folder is not shared, and a start sees what its "
        "own host has"
    )
    return finding(Code.NON_SHARED_STORAGE, text)


def _apart(first: Mapping[str, int], other: Mapping[str, int]) -> bool:
    both = first.keys() & other.keys()
    each_has_its_own = len(both) < min(len(first), len(other))
    return each_has_its_own and all(first[name] == other[name] for name in both)


def _shown(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return ", ".join(name[:200] for name in names[:MAX_NAMED]) + more
