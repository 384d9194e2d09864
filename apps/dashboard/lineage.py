"""Which part of each attempt still counts after restarts and rollbacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from apps.rollbacks.domain.lineage import Branch, past
from apps.runs.records import AttemptInfo


def kept_until(attempts: Sequence[AttemptInfo]) -> Mapping[int, int | None]:
    """attempt -> first step that no longer counts; None: all of it counts; 0: nothing.

    The newest attempt counts whole; its ancestors count up to where their child forked off;
    an attempt that is no ancestor was given up as a whole.
    """
    kept: dict[int, int | None] = dict.fromkeys((a.number for a in attempts), 0)
    branches = [Branch(a.number, a.parent, a.fork_step) for a in attempts]
    newest = max(kept, default=-1)
    kept.update({s.attempt: s.up_to_step for s in past(branches, newest)})
    return kept
