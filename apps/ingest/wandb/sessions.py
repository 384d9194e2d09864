"""Which client process a request comes from, and whose lines a synced copy repeats. Pure.

The client repeats in every request the entity that the answer to its first one named, and the id
that RunResumeStatus gave it in the request that follows. Both carry here what tells one process of
a run from another: the protocol itself has no name for a process.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from apps.core.words import whole
from apps.ingest.wandb.lines import EVENTS, HISTORY, OUTPUT, Piece, origin_ns, stamp_ns

ENTITY: Final = "lastgood"
_NAMED = re.compile(rf"{ENTITY}-(sync-)?(\d{{1,9}})")
_TOLD = re.compile(r".+~(\d{1,9})~(\d{1,18})~(\d{1,18})~(\d{1,18})(?:~after(\d{1,16}))?")
SAME_ORIGIN_NS: Final = 2_000_000_000
"""Lines of one process give its start within 0.3 s of each other (seen with wandb 0.31.0); a
process cannot end and its successor log within this time."""


@dataclass(frozen=True, slots=True)
class Session:
    """One client process: that of an attempt, or the n-th `wandb sync` of a run. Neither: it is
    not known which."""

    attempt: int | None = None
    copy: int | None = None

    @property
    def entity(self) -> str:
        """What the process is told that its entity is. Plain for the first attempt: people see it
        in the addresses that the client prints."""
        if self.copy is not None:
            return f"{ENTITY}-sync-{self.copy}"
        return f"{ENTITY}-{self.attempt}" if self.attempt else ENTITY


def session_of(entity: str) -> Session:
    """The session whose entity this is; an unknown one for whatever we did not give."""
    if entity == ENTITY:
        return Session(attempt=0)
    named = _NAMED.fullmatch(entity)
    if named is None:
        return Session()
    return Session(copy=int(named[2])) if named[1] else Session(attempt=int(named[2]))


def copy_name(number: int) -> str:
    """What the bodies of a synced copy carry as their writer while they wait."""
    return f"sync-{number}"


MAX_COPY: Final = 999_999_999


def copy_number(writer: str) -> int | None:
    """The number of the copy that is called so; None if it is something else."""
    kind, _, number = writer.partition("-")
    return whole(number, MAX_COPY) if kind == "sync" else None


@dataclass(frozen=True, slots=True)
class Told:
    """What a process that resumes was told: whom it follows and how many lines there are.

    step: of a run that is rewound, the last one that stays; None: all of them stay.
    """

    attempt: int
    history: int
    events: int
    output: int
    step: int | None = None

    @property
    def lines(self) -> dict[str, int]:
        """file -> number of the first line of the process that was told so."""
        return {HISTORY: self.history, EVENTS: self.events, OUTPUT: self.output}

    def packed(self, key: str) -> str:
        """The id of the run as this process is told it."""
        after = "" if self.step is None else f"~after{self.step}"
        return f"{key}~{self.attempt}~{self.history}~{self.events}~{self.output}{after}"


def told_in(run_id: str) -> Told | None:
    """What the process was told that names its run so; None if that was nothing."""
    found = _TOLD.fullmatch(run_id)
    if found is None:
        return None
    attempt, history, events, output = (int(part) for part in found.groups()[:4])
    return Told(attempt, history, events, output, None if found[5] is None else int(found[5]))


@dataclass(frozen=True, slots=True)
class Trace:
    """What lines of one file tell of the process that wrote them.

    first_ns: time of its very first line, None if that is not among them. origin_ns: when its
    clock of `_runtime` began.
    """

    first_ns: int | None
    origin_ns: int | None


def traces(pieces: Sequence[Piece], first_lines: Mapping[str, int]) -> dict[str, Trace]:
    """file -> its trace, for the files whose lines carry times. first_lines: of this process."""
    found = {}
    for piece in pieces:
        if piece.file in (HISTORY, EVENTS) and piece.lines:
            first = piece.offset == first_lines.get(piece.file, 0)
            first_ns = stamp_ns(piece.lines[0]) if first else None
            found[piece.file] = Trace(first_ns, origin_ns(piece.lines))
    return {file: trace for file, trace in found.items() if trace.origin_ns is not None}


def original_of(
    copied: Mapping[str, Trace], known: Mapping[int, Mapping[str, Trace]]
) -> int | None:
    """The attempt whose process wrote what the copy repeats; None if none of them did.

    known: attempt -> file -> trace. The nearest origin within SAME_ORIGIN_NS, unless the first
    lines show that it is another process.
    """
    near = [
        (apart, attempt)
        for attempt, files in known.items()
        if (apart := _apart_ns(copied, files)) is not None and apart <= SAME_ORIGIN_NS
    ]
    return min(near)[1] if near else None


def _apart_ns(copied: Mapping[str, Trace], files: Mapping[str, Trace]) -> int | None:
    apart = list[int]()
    for file, trace in copied.items():
        other = files.get(file)
        if other is None or other.origin_ns is None or trace.origin_ns is None:
            continue
        if _differ(trace.first_ns, other.first_ns):
            return None
        apart.append(abs(trace.origin_ns - other.origin_ns))
    return max(apart, default=None)


def _differ(first_ns: int | None, other_ns: int | None) -> bool:
    """Whether these are first lines of two processes; an older program kept microseconds."""
    if first_ns is None or other_ns is None:
        return False
    return abs(first_ns - other_ns) >= 1_000
