"""Which hosts and which links are slow, from bandwidths between pairs of hosts. Plain NumPy.

A pair is as fast as its slower end allows, so each host has a level (the median over its partners)
and a link is slow only by what the levels of its two ends do not explain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from apps.core.robust import MAD_TO_SD
from apps.core.words import many, number

Matrix = NDArray[np.float64]
"""[from, to] in Gbit/s: NaN where nothing was measured, 0 where the test failed."""


@dataclass(frozen=True, slots=True)
class LinkPolicy:
    """Slow is below a ratio, and by z robust standard deviations of all that were measured.

    host_ratio, link_ratio: a host against the median of all, a link against what its ends reach
    with others. With fewer than crowd partners a host has the level of its best one: a single slow
    link must not make it slow. With one partner nobody knows which end it is. most: of each kind.
    """

    host_ratio: float = 0.85
    link_ratio: float = 0.75
    z: float = 6.0
    crowd: int = 3
    most: int = 64


DEFAULT_POLICY = LinkPolicy()


class SlowHost(msgspec.Struct, frozen=True):
    """gbit_s: its level; ratio: to the median of all hosts. partners: it was tested with."""

    host: str
    gbit_s: float
    ratio: float
    partners: int


class SlowLink(msgspec.Struct, frozen=True):
    """ratio: to what both ends reach with others. both: slow in both directions, or measured in
    one only. sure: both ends were tested with others too."""

    a: str
    b: str
    gbit_s: float
    ratio: float
    both: bool
    sure: bool


class LinkVerdict(msgspec.Struct, frozen=True):
    """What stands out. more: slow hosts and links that are not listed. inside: hosts whose own GPUs
    are slow among each other."""

    median_gbit_s: float
    pairs: int
    slow_hosts: tuple[SlowHost, ...] = ()
    slow_links: tuple[SlowLink, ...] = ()
    inside: tuple[SlowHost, ...] = ()
    more: int = 0

    @property
    def quiet(self) -> bool:
        """Whether nothing stands out."""
        return not (self.slow_hosts or self.slow_links or self.inside)

    @property
    def sentences(self) -> list[str]:
        """The verdict in words, the worst first."""
        found = [_host_words(one, self.median_gbit_s) for one in self.slow_hosts]
        found += [_link_words(one) for one in self.slow_links]
        found += [_inside_words(one) for one in self.inside]
        if self.more:
            found.append(f"{self.more:,} more hosts or links are slow")
        if not found:
            tested = many(self.pairs, "pair") if self.pairs else "hosts by themselves"
            found.append(f"no host and no link stands out among {tested}")
        return found


def judge(hosts: Sequence[str], matrix: Matrix, policy: LinkPolicy = DEFAULT_POLICY) -> LinkVerdict:
    """What is slow. O(n^2 log n), 0.2 s for 1,024 hosts.

    The diagonal holds tests inside a host and is judged apart.
    """
    between = matrix.copy()
    np.fill_diagonal(between, np.nan)
    measured = np.isfinite(between)
    inside = _inside(hosts, np.diag(matrix), policy)
    if not measured.any():
        return LinkVerdict(0.0, 0, inside=inside)
    level, partners = _levels(between, policy)
    usual = float(np.nanmedian(level[partners > 0]))
    ratio = np.divide(level, usual, out=np.ones_like(level), where=(partners > 0) & (usual > 0))
    known = ratio[partners > 1]
    limit = min(policy.host_ratio, 1.0 - policy.z * _spread(known)) if len(known) else 0.0
    slow = np.flatnonzero((partners > 1) & (ratio < limit))
    links = _links(hosts, between, (np.minimum(ratio, 1.0), partners, usual), policy)
    listed = sorted(slow.tolist(), key=lambda at: (ratio[at], at))
    found = [
        SlowHost(hosts[at], float(level[at]), float(ratio[at]), int(partners[at])) for at in listed
    ]
    kept = links[: policy.most]
    more = max(0, len(found) - policy.most) + len(links) - len(kept)
    pairs = int(np.triu(measured | measured.T).sum())
    return LinkVerdict(usual, pairs, tuple(found[: policy.most]), tuple(kept), inside, more)


def _levels(between: Matrix, policy: LinkPolicy) -> tuple[Matrix, NDArray[np.int64]]:
    """(level, partners) of each host: its level is NaN if it has none."""
    pair = np.where(np.isfinite(between + between.T), (between + between.T) / 2, 0.0)
    pair = np.where(pair > 0, pair, np.fmin(between, between.T))
    partners = np.isfinite(pair).sum(axis=1)
    level = np.full(len(pair), np.nan)
    for at in np.flatnonzero(partners):
        row = pair[at][np.isfinite(pair[at])]
        level[at] = np.median(row) if len(row) >= policy.crowd else row.max()
    return level, partners


def _links(
    hosts: Sequence[str],
    between: Matrix,
    ends: tuple[Matrix, NDArray[np.int64], float],
    policy: LinkPolicy,
) -> list[SlowLink]:
    """Slow links, slowest first. ends: (ratio of each host, its partners, the usual level)."""
    ratio, partners, usual = ends
    ratio = np.where(partners > 1, ratio, 1.0)
    expected = np.minimum.outer(ratio, ratio) * usual
    unknown = np.full_like(between, np.nan)
    rest = np.divide(between, expected, out=unknown, where=expected > 0)
    seen = rest[np.isfinite(rest)]
    limit = min(policy.link_ratio, 1.0 - policy.z * _spread(seen)) if len(seen) else 0.0
    slow = rest < limit
    found = []
    for a, b in np.argwhere(slow).tolist():
        back = slow[b, a] or not np.isfinite(rest[b, a])
        if a > b and slow[b, a]:
            continue
        value, part = (
            (np.fmin(between[a, b], between[b, a]), np.fmin(rest[a, b], rest[b, a]))
            if back
            else (between[a, b], rest[a, b])
        )
        sure = bool(min(partners[a], partners[b]) > 1)
        found.append(SlowLink(hosts[a], hosts[b], float(value), float(part), bool(back), sure))
    return sorted(found, key=lambda link: (link.ratio, link.a, link.b))


def _inside(hosts: Sequence[str], own: Matrix, policy: LinkPolicy) -> tuple[SlowHost, ...]:
    """Hosts that are slow by themselves, among at least crowd that were tested alone."""
    tested = np.isfinite(own)
    if tested.sum() < policy.crowd:
        return ()
    usual = float(np.median(own[tested]))
    if usual <= 0:
        return ()
    ratio = own / usual
    limit = min(policy.host_ratio, 1.0 - policy.z * _spread(ratio[tested]))
    slow = sorted(np.flatnonzero(tested & (ratio < limit)).tolist(), key=lambda at: ratio[at])
    return tuple(
        SlowHost(hosts[at], float(own[at]), float(ratio[at]), 0) for at in slow[: policy.most]
    )


def _spread(values: Matrix) -> float:
    """Robust standard deviation around the median."""
    return MAD_TO_SD * float(np.median(np.abs(values - np.median(values))))


def _host_words(one: SlowHost, usual: float) -> str:
    if one.gbit_s <= 0:
        return f"{one.host} reaches nobody: the tests with {many(one.partners, 'host')} failed"
    return (
        f"{one.host} is slow: {number(one.gbit_s)} Gbit/s with {many(one.partners, 'host')}, "
        f"{100 * one.ratio:.0f} % of the usual {number(usual)}"
    )


def _link_words(one: SlowLink) -> str:
    way = f"between {one.a} and {one.b}" if one.both else f"from {one.a} to {one.b}"
    doubt = "" if one.sure else "; with so few tests it may as well be one of the two hosts"
    if one.gbit_s <= 0:
        return f"the test {way} failed{doubt}"
    return (
        f"the link {way} is slow: {number(one.gbit_s)} Gbit/s, {100 * one.ratio:.0f} % of what "
        f"both hosts reach with others{doubt}"
    )


def _inside_words(one: SlowHost) -> str:
    return (
        f"inside {one.host} its GPUs reach {number(one.gbit_s)} Gbit/s, {100 * one.ratio:.0f} % of "
        "what they reach inside the other hosts"
    )
