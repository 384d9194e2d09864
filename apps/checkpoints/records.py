"""Checkpoints as values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from apps.checkpoints.domain import inventory
from apps.checkpoints.domain.codes import CheckpointFinding, Level
from apps.checkpoints.domain.inventory import Inventory
from apps.checkpoints.domain.lifecycle import State, Worth, worth_of
from apps.checkpoints.domain.places import Tier

Packed = bytes
Place = tuple[int, int]
"""(attempt, step): what names a checkpoint inside a run."""


def is_complete(state: State, level: Level, findings: Iterable[CheckpointFinding]) -> bool:
    """Whether a checkpoint may be offered for a restore: it is there, its marker was seen (a word
    of its writer alone is not enough), and nothing fatal was found."""
    hurt = any(f.fatal for f in findings)
    return worth_of(state, level, hurt=hurt) is Worth.COMPLETE


@dataclass(frozen=True, slots=True)
class Look:
    """What a look at the storage cost, and what it left out.

    seen_at_ns: our clock. unchecked: what was not looked at, in words. content_digest: hex SHA-256
    of all that was read, "" if not all was.
    """

    seen_at_ns: int
    bytes_read: int
    bytes_total: int
    unchecked: tuple[str, ...] = ()
    content_digest: str = ""


@dataclass(frozen=True, slots=True)
class CheckpointInfo:
    """A checkpoint and how far it was checked.

    path: where it is to be restored from. bytes: all files together. complete: it is there, it is
    committed and nothing fatal was found. digest: of the inventory. checked_at_ns: our clock, None
    until metadata was compared. state_at_ns, why: since when it is in its state, and who says so.
    look: None until a storage was looked at. source: who spoke of it first.
    """

    attempt: int
    step: int
    path: str
    saved_at_ns: int
    save_s: float | None
    packed_files: Packed
    file_count: int
    bytes: int
    digest: str
    framework: str
    level: str
    findings: tuple[CheckpointFinding, ...]
    complete: bool
    checked_at_ns: int | None
    state: State = State.COMMITTED
    state_at_ns: int = 0
    why: str = ""
    look: Look | None = None
    source: str = "http"

    @property
    def worth(self) -> Worth:
        """What it is worth in one word."""
        return worth_of(self.state, Level(self.level), hurt=bool(self.fatal))

    @property
    def place(self) -> Place:
        """(attempt, step)."""
        return self.attempt, self.step

    @property
    def inventory(self) -> Inventory:
        """File name -> size and stamps. Unpacked at every call."""
        return inventory.unpack(self.packed_files)

    @property
    def files(self) -> dict[str, int]:
        """File name -> bytes. Unpacked at every call."""
        return inventory.sizes(self.inventory)

    @property
    def fatal(self) -> tuple[CheckpointFinding, ...]:
        """The findings that forbid a restore."""
        return tuple(f for f in self.findings if f.fatal)


@dataclass(frozen=True, slots=True)
class Sketch:
    """What is drawn of a checkpoint among a thousand others. level: how far it was checked."""

    attempt: int
    step: int
    saved_at_ns: int
    worth: Worth
    level: Level


@dataclass(frozen=True, slots=True)
class NewCheckpoint:
    """A checkpoint, ready to be written."""

    attempt: int
    step: int
    path: str
    saved_at_ns: int
    save_s: float | None
    files: Inventory
    digest: str
    source: str = "http"


@dataclass(frozen=True, slots=True)
class Check:
    """All that is known about the wholeness of a checkpoint, ready to be written."""

    level: Level
    framework: str
    findings: tuple[CheckpointFinding, ...]
    state: State
    state_at_ns: int
    why: str = ""
    checked_at_ns: int | None = None
    look: Look | None = None

    @property
    def complete(self) -> bool:
        """Whether the checkpoint may be offered for a restore."""
        return is_complete(self.state, self.level, self.findings)


@dataclass(frozen=True, slots=True)
class Observation:
    """What a look at one place of a storage found.

    attempt: None: that of the registered checkpoint of this step in this place, else the one that
    ran when it was saved. uri: the directory of the step, or its file. saved_at_ns: the time of its
    commit marker, else of its newest file. inventory: names relative to `uri`. tier: None: what the
    address looks like.
    """

    step: int
    uri: str
    saved_at_ns: int
    framework: str
    level: Level
    inventory: Inventory
    look: Look
    findings: tuple[CheckpointFinding, ...] = ()
    attempt: int | None = None
    tier: Tier | None = None


@dataclass(frozen=True, slots=True)
class Copy:
    """One place where a checkpoint lies or lay. seen_at_ns: None: it was only spoken of."""

    attempt: int
    step: int
    uri: str
    tier: Tier
    state: State
    level: Level
    findings: tuple[CheckpointFinding, ...]
    bytes: int | None
    seen_at_ns: int | None

    @property
    def worth(self) -> Worth:
        """What this copy is worth in one word."""
        return worth_of(self.state, self.level, hurt=any(f.fatal for f in self.findings))

    @property
    def complete(self) -> bool:
        """Whether this copy may be restored."""
        return is_complete(self.state, self.level, self.findings)


class MarkKind(StrEnum):
    """pin: kept until it is taken off. tag: kept, and found by its name. lease: kept for a job
    until a time."""

    PIN = "pin"
    TAG = "tag"
    LEASE = "lease"


@dataclass(frozen=True, slots=True)
class Protection:
    """Why a checkpoint must not be deleted. name: of the tag, or who holds the lease."""

    kind: MarkKind
    name: str
    reason: str
    actor: str
    made_at_ns: int
    until_ns: int | None = None
