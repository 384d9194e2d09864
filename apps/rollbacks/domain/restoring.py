"""How long it takes until a checkpoint is loaded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from apps.core.words import many
from apps.rollbacks.domain.scene import Restore

HOST_BYTES_S = 2e9
"""What one host reads in a second where nothing was measured (a 25 Gbit/s link, or NVMe shared with
the training)."""
_NEWEST = 3


@dataclass(frozen=True, slots=True)
class SeenStart:
    """A start that was measured: seconds from the launch to its first logged step, and the size of
    the checkpoint it began from, 0 if unknown."""

    seconds: float
    size_bytes: int


def estimate(size_bytes: int, hosts: int, seen: Sequence[SeenStart]) -> Restore | None:
    """Seconds to load `size_bytes`; None without a measured start and without hosts or a size.

    seen: oldest first. The median of the last three, each scaled by size; start-up does not shrink
    with the size, so that a smaller one is never said to be faster. Without any: every host reads
    its part at HOST_BYTES_S, which a slower store prolongs.
    """
    if seen:
        newest = seen[-_NEWEST:]
        took = median(s.seconds * _growth(size_bytes, s.size_bytes) for s in newest)
        return Restore(
            took, f"from launch to first step, the median of {many(len(newest), 'start')}"
        )
    if not hosts or not size_bytes:
        return None
    who = "the one host" if hosts == 1 else f"each of {hosts} hosts"
    basis = f"at least, if {who} reads {HOST_BYTES_S / 1e9:.0f} GB/s"
    return Restore(size_bytes / (hosts * HOST_BYTES_S), basis)


def _growth(size_bytes: int, before_bytes: int) -> float:
    return max(1.0, size_bytes / before_bytes) if before_bytes and size_bytes else 1.0
