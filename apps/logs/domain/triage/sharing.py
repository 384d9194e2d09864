"""Faults that two ranks make together: neither of them failed first."""

from __future__ import annotations

import re
from collections.abc import Iterable

from apps.logs.domain.triage.verdict import Candidate

_DUPLICATE = re.compile(r"Duplicate GPU detected : rank (\d{1,7}) and rank (\d{1,7}) both on ")


def sharing(candidates: Iterable[Candidate]) -> tuple[int, ...]:
    """The ranks that NCCL names because they use one device, ascending; () if there are none.

    Each of them must say so itself: numbers in a line may be of a group.
    """
    speaking, named = set[int](), set[int]()
    for one in candidates:
        for event in one.rank.events:
            found = _DUPLICATE.search(event.text)
            if found is not None:
                speaking.add(one.rank.rank)
                named |= {int(found[1]), int(found[2])}
    return tuple(sorted(named)) if named and named <= speaking else ()
