"""The way of a checkpoint from "no rule keeps it" to "gone", and what forbids it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Final

from apps.checkpoints.domain.inventory import Listed
from apps.checkpoints.domain.tree import FileStat, Tree
from apps.core.errors import Conflict
from apps.core.words import many

GRACE_S: Final = 24 * 3_600
"""From the decision to the first deleted byte: people sleep, and look at it in the morning."""
NAMED: Final = 3
_MARKERS: Final = frozenset(
    (
        ".metadata",
        ".metadata.json",
        "metadata.json",
        "model.safetensors.index.json",
        "trainer_state.json",
        "_CHECKPOINT_METADATA",
        "commit_success.txt",
    )
)
"""What frameworks look for before they load: gone first, so that no half is ever loaded."""


class State(StrEnum):
    """waiting: for its grace to end. deleting: from the first file on. deleted: no file is left.

    taken_back: by a person. spared: a rule or a guard keeps it again. refused: the storage says
    something else than the register; a person must look.
    """

    WAITING = "waiting"
    DELETING = "deleting"
    DELETED = "deleted"
    TAKEN_BACK = "taken_back"
    SPARED = "spared"
    REFUSED = "refused"


_NEXT: Final[Mapping[State, frozenset[State]]] = {
    State.WAITING: frozenset((State.DELETING, State.TAKEN_BACK, State.SPARED, State.REFUSED)),
    State.DELETING: frozenset((State.DELETED, State.REFUSED)),
    State.DELETED: frozenset(),
    State.TAKEN_BACK: frozenset((State.WAITING,)),
    State.SPARED: frozenset((State.WAITING,)),
    State.REFUSED: frozenset((State.WAITING,)),
}


def moved(before: State, after: State) -> State:
    """`after`, if a deletion may go there from `before`; raises Conflict if not."""
    if after not in _NEXT[before]:
        raise Conflict(
            f"the deletion is {before.value.replace('_', ' ')}",
            hint=f"it cannot become {after.value.replace('_', ' ')}",
        )
    return after


def objection(
    registered: Mapping[str, Listed], found: Tree, *, looked_at_ns: int, begun: bool
) -> str | None:
    """Why a checkpoint must not be deleted, in words; None if it may.

    Only what is exactly the registered checkpoint is deleted: another file, another size or stamp,
    or a file written after the last look means that somebody else writes there. begun: a deletion
    that was cut short goes on, so files may be gone.
    """
    if not registered:
        return "nobody listed its files, so what lies there cannot be told from anything else"
    odd = [name for name in sorted(registered) if not safe_name(name)]
    if odd:
        return f"the register names {odd[0]!r}, which leads out of the directory"
    more = sorted(found.keys() - registered.keys())
    if more:
        return f"{many(len(more), 'file')} more than registered: {_named(more)}"
    gone = sorted(registered.keys() - found.keys())
    if gone and not begun:
        return f"{many(len(gone), 'registered file')} not there: {_named(gone)}"
    other = [name for name in sorted(found) if _differs(registered[name], found[name])]
    if other:
        return f"{many(len(other), 'file')} not as registered: {_named(other)}"
    late = [name for name in sorted(found) if (found[name].mtime_ns or 0) > looked_at_ns]
    if late:
        return f"{many(len(late), 'file')} written after the last look: {_named(late)}"
    return None


def _differs(registered: Listed, found: FileStat) -> bool:
    pairs = ((registered.mtime_ns, found.mtime_ns), (registered.etag, found.etag))
    stamped = any(a is not None and b is not None and a != b for a, b in pairs)
    return registered.size != found.size or stamped


def safe_name(name: str) -> bool:
    """Whether a relative name stays inside its directory."""
    path = PurePosixPath(name)
    return bool(name) and not path.is_absolute() and ".." not in path.parts and "\0" not in name


def in_order(names: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(markers, everything else): the first must be gone before the second is touched."""
    markers = [name for name in names if name.rpartition("/")[2] in _MARKERS]
    return tuple(markers), tuple(name for name in names if name not in set(markers))


def _named(names: Sequence[str]) -> str:
    shown = ", ".join(names[:NAMED])
    return f"{shown} ..." if len(names) > NAMED else shown
