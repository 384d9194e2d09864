"""Storage roots as values."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

MAX_ROOMS = 400
NOBODY_LOOKS_S = 180
"""Beat sends what is due every 20 s; a look that waits longer than this has no worker."""


class Outcome(StrEnum):
    """What came of a look. partial: something was left out, so nothing is taken for gone."""

    WHOLE = "whole"
    PARTIAL = "partial"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Room:
    """How full a root's file system was."""

    at_ns: int
    free_bytes: int
    total_bytes: int


@dataclass(frozen=True, slots=True)
class Beside:
    """Something wrong beside the steps: a pointer, a leftover. folder: below the root."""

    folder: str
    code: str
    message: str
    fatal: bool
    run_id: int | None = None


@dataclass(slots=True)
class Look:
    """What one look at a root found; it grows while the look goes on.

    steps: checkpoints seen, of which `same` looked as before and were not read. lost: that were
    here and are not any more. broken: with a fatal finding. part: that were listed in part only,
    and are not judged. refused: that could not be registered. unnumbered: whose name tells no step.
    unknown: folders whose name is no run of the project. unmatched: files beside the pattern.
    outside, unread, vanished, other: of the listing (storage/listing.py). bytes_read: of headers
    and markers.
    """

    at_ns: int
    outcome: Outcome = Outcome.WHOLE
    message: str = ""
    took_s: float = 0.0
    files: int = 0
    bytes: int = 0
    steps: int = 0
    same: int = 0
    broken: int = 0
    lost: int = 0
    refused: int = 0
    bytes_read: int = 0
    vanished: int = 0
    other: int = 0
    unmatched: int = 0
    outside: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    unnumbered: tuple[str, ...] = ()
    part: tuple[str, ...] = ()
    beside: list[Beside] = field(default_factory=list)
    kind: str = "unknown"
    mount_type: str = ""
    mount_source: str = ""
    total_bytes: int | None = None
    free_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class RootRule:
    """What somebody says of a root. run_id: None if `project` and `pattern` say whose it is."""

    uri: str
    run_id: int | None
    project: str
    pattern: str
    every_s: int
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class RootInfo:
    """A root and what the last look at it found. rooms: oldest first, at most MAX_ROOMS.

    claimed_until_ns: beyond now: a look goes on.
    """

    id: int
    rule: RootRule
    version: int
    changed_by: str
    changed_at_ns: int
    next_at_ns: int
    claimed_until_ns: int
    last: Look | None
    rooms: tuple[Room, ...]

    def looking(self, now_ns: int) -> bool:
        """Whether somebody looks at it now."""
        return self.claimed_until_ns > now_ns

    def waits(self, now_ns: int) -> bool:
        """Whether it is due for so long that nobody seems to look at storage at all."""
        due_ns = now_ns - self.next_at_ns
        return self.rule.enabled and not self.looking(now_ns) and due_ns > NOBODY_LOOKS_S * 10**9
