"""Which of several failures came first, as far as the clocks of their hosts can tell.

All times are on the job's clock: what a host wrote, less how far its clock is ahead by the lines
that all hosts print at the same step (apps/logs/domain/clock). What remains unknown of that is
added to what cannot be ordered anyway.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from apps.core.words import many
from apps.logs.domain.clock.skew import HostClock
from apps.logs.domain.triage.verdict import Candidate, FirstFailurePolicy

MAX_NAMED = 4
_S = 1e9
_MS = 1e6


def in_order(
    candidates: Iterable[Candidate], clocks: Mapping[str, HostClock], policy: FirstFailurePolicy
) -> tuple[list[Candidate], list[Candidate]]:
    """(those that may have been first, most specific first; the rest, by time). Not empty."""
    ordered = sorted(candidates, key=lambda c: (c.time_ns, c.rank.rank))
    tied, late = list[Candidate](), list[Candidate]()
    for one in ordered:
        behind_ns = one.time_ns - ordered[0].time_ns
        limit_ns = policy.tie_ns + _doubt_ns(ordered[0], one, clocks, policy)
        (tied if behind_ns <= limit_ns else late).append(one)
    tied.sort(key=lambda c: -c.fault.specificity)
    return tied, late


def undecided(tied: Sequence[Candidate]) -> tuple[int, ...]:
    """The ranks among them that neither a clock nor their class puts behind another."""
    most = tied[0].fault.specificity
    equal = [c.rank.rank for c in tied if c.fault.specificity == most]
    return tuple(sorted(equal)) if len(equal) > 1 else ()


def _doubt_ns(
    first: Candidate, other: Candidate, clocks: Mapping[str, HostClock], policy: FirstFailurePolicy
) -> float:
    """How far the difference of two times may be wrong because of the clocks."""
    nodes = (first.rank.node, other.rank.node)
    if nodes[0] == nodes[1]:
        return 0.0
    known = [clocks[node].uncertainty_ns for node in nodes if node is not None and node in clocks]
    return policy.doubt_sigmas * math.hypot(*known)


def said_of_clocks(clocks: Mapping[str, HostClock], nodes: Iterable[str]) -> tuple[str, ...]:
    """What a reader must know of the clocks behind an order. nodes: that the order is about."""
    asked = sorted(set(nodes))
    off = sorted(
        (c for c in clocks.values() if c.apart and c.skew_ns is not None),
        key=lambda c: -abs(c.skew_ns or 0),
    )
    if len(asked) < 2 and not off:
        return ()
    unknown = [node for node in asked if node not in clocks]
    said = [_corrected(off)] if off else []
    if not unknown and not off:
        most = max(abs(clocks[node].skew_ns or 0) for node in asked)
        said.append(
            f"The clocks of the {many(len(asked), 'host')} agree within {max(1, round(most / _MS))}"
            " ms, by lines that all of them print at the same step."
        )
    if unknown:
        said.append(_not_compared(unknown))
    return tuple(said)


def _corrected(off: Sequence[HostClock]) -> str:
    """ "Ordered after correcting gpu-b02 by -1.80 s ± 0.02 s." A clock ahead is set back."""
    named = ", ".join(
        f"{c.node} by {-(c.skew_ns or 0) / _S:+.2f} s ± {max(c.uncertainty_ns / _S, 0.01):.2f} s"
        for c in off[:MAX_NAMED]
    )
    more = f" and {many(len(off) - MAX_NAMED, 'more host')}" if len(off) > MAX_NAMED else ""
    return (
        f"Ordered after correcting {named}{more}, by lines that all hosts print at the same step."
    )


def _not_compared(nodes: Sequence[str]) -> str:
    named = ", ".join(nodes[:MAX_NAMED])
    more = f" and {many(len(nodes) - MAX_NAMED, 'more host')}" if len(nodes) > MAX_NAMED else ""
    return (
        f"The clock of {named}{more} could not be compared: too few lines of steps that other"
        " hosts print too. Times there are taken as they stand."
    )
