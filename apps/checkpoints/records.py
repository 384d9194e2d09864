"""Checkpoints as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from apps.checkpoints.domain import inventory
from apps.checkpoints.domain.verify import CheckpointFinding, Verification

Packed = bytes


@dataclass(frozen=True, slots=True)
class CheckpointInfo:
    """A checkpoint and how far it was checked.

    bytes: all files together. complete: committed and nothing fatal found. digest: of the
    inventory. checked_at_ns: our clock, None until the metadata content was compared.
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

    @property
    def files(self) -> dict[str, int]:
        """File name -> bytes. Unpacked at every call."""
        return inventory.unpack(self.packed_files)

    @property
    def fatal(self) -> tuple[CheckpointFinding, ...]:
        """The findings that forbid a restore."""
        return tuple(f for f in self.findings if f.fatal)


@dataclass(frozen=True, slots=True)
class NewCheckpoint:
    """An announcement, ready to be written."""

    attempt: int
    step: int
    path: str
    saved_at_ns: int
    save_s: float | None
    files: Mapping[str, int]
    digest: str


@dataclass(frozen=True, slots=True)
class Check:
    """The result of a check, ready to be written."""

    verification: Verification
    complete: bool
    findings: tuple[CheckpointFinding, ...]
    checked_at_ns: int | None
