"""How long does it take to load a checkpoint on N hosts? Pure.

Two ways: each copy is read from the store ("direct"), or each byte is read once and passed on over
the network of the job. Pre-training needs many copies (one per data-parallel replica, unless the
state is sharded over all of them); fine-tuning on a few hosts needs one and is bound by the hosts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

RECENT: Final = 3
"""Measured restores that count: the median of the last ones."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """hosts >= 1. Bytes a second: what one host reads, the store gives to all, one host sends."""

    hosts: int
    host_bytes_s: float
    store_bytes_s: float
    network_bytes_s: float

    def __post_init__(self) -> None:
        rates = (self.host_bytes_s, self.store_bytes_s, self.network_bytes_s)
        if self.hosts < 1 or not all(rate > 0 for rate in rates):
            raise ValueError(f"a restore needs a host and rates above 0: {self}")


@dataclass(frozen=True, slots=True)
class Way:
    """One way to load. read_bytes: taken from the store. bound_by: what limits it, in words."""

    name: str
    seconds: float
    read_bytes: int
    bound_by: str


@dataclass(frozen=True, slots=True)
class Restored:
    """A restore that was seen: how long it took, for how many bytes on how many hosts."""

    seconds: float
    size_bytes: int
    hosts: int


def ways(size_bytes: int, copies: int, cluster: Cluster) -> tuple[Way, Way]:
    """Direct, and read once and exchange, for `copies` copies of the state over the job.

    direct = max(S r / (N b_host), S r / B_store); once = max(S / (N b_host), S / B_store) +
    (S r - S) / (N b_net). size_bytes >= 0, copies >= 1.
    """
    direct_s, direct_by = _read(size_bytes * copies, cluster)
    once_s, once_by = _read(size_bytes, cluster)
    passed_s = size_bytes * (copies - 1) / (cluster.hosts * cluster.network_bytes_s)
    by = once_by if once_s >= passed_s else "the network between the hosts"
    return (
        Way("direct", direct_s, size_bytes * copies, direct_by),
        Way("read once, then exchange", once_s + passed_s, size_bytes, by),
    )


def _read(total_bytes: int, cluster: Cluster) -> tuple[float, str]:
    by_hosts = total_bytes / (cluster.hosts * cluster.host_bytes_s)
    by_store = total_bytes / cluster.store_bytes_s
    if by_hosts >= by_store:
        return by_hosts, "the hosts"
    return by_store, "the store"


def measured_s(seen: Sequence[Restored], size_bytes: int, hosts: int) -> float | None:
    """The median of the last restores, scaled by bytes per host; None if none was seen.

    seen: oldest first; those without bytes or hosts do not count.
    """
    usable = [one for one in seen if one.size_bytes > 0 and one.hosts > 0 and one.seconds > 0]
    if not usable:
        return None
    scaled = [one.seconds * (size_bytes / hosts) / (one.size_bytes / one.hosts) for one in usable]
    return median(scaled[-RECENT:])
