"""What can be said about a checkpoint: levels, finding codes, and findings in words."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

MAX_NAMED = 5


class Level(StrEnum):
    """How far a checkpoint was checked. Each level includes those before it.

    hash_verified: every byte was read and agrees with a digest taken before. restored: a training
    process said that it has loaded it.
    """

    LISTED = "listed"
    COMMITTED = "committed"
    HEADERS_VERIFIED = "headers_verified"
    HASH_VERIFIED = "hash_verified"
    RESTORED = "restored"


class Code(StrEnum):
    """What can be wrong with a checkpoint or with the folder it lies in. The codes are stored."""

    NO_COMMIT_MARKER = "NO_COMMIT_MARKER"
    METADATA_UNREADABLE = "METADATA_UNREADABLE"
    UNSAFE_PICKLE = "UNSAFE_PICKLE"
    ZERO_LENGTH = "ZERO_LENGTH"
    MISSING_SHARD = "MISSING_SHARD"
    TRUNCATED = "TRUNCATED"
    SIZE_MISMATCH = "SIZE_MISMATCH"
    BAD_MAGIC = "BAD_MAGIC"
    BAD_HEADER = "BAD_HEADER"
    COVERAGE = "COVERAGE"
    MISSING_TENSOR = "MISSING_TENSOR"
    FOREIGN_SHARDS = "FOREIGN_SHARDS"
    SHARD_NEWER_THAN_MARKER = "SHARD_NEWER_THAN_MARKER"
    RANK_FILES_GAP = "RANK_FILES_GAP"
    STALE_LATEST = "STALE_LATEST"
    BAD_LATEST = "BAD_LATEST"
    LATEST_BEHIND = "LATEST_BEHIND"
    LATEST_MISSING = "LATEST_MISSING"
    STAGING_DEBRIS = "STAGING_DEBRIS"
    BEST_MISSING = "BEST_MISSING"
    NON_SHARED_STORAGE = "NON_SHARED_STORAGE"
    INVENTORY_MISMATCH = "INVENTORY_MISMATCH"
    HASH_MISMATCH = "HASH_MISMATCH"
    REWRITTEN = "REWRITTEN"
    UNCHECKED = "UNCHECKED"
    STEP_MISMATCH = "STEP_MISMATCH"


_WARNINGS = frozenset(
    (
        Code.SIZE_MISMATCH,
        Code.FOREIGN_SHARDS,
        Code.LATEST_BEHIND,
        Code.STAGING_DEBRIS,
        Code.BEST_MISSING,
        Code.UNCHECKED,
        Code.STEP_MISMATCH,
        # People touch files so that no purge takes them: a later time alone proves nothing.
        Code.REWRITTEN,
    )
)
LOADS_WRONG = frozenset((Code.SHARD_NEWER_THAN_MARKER.value,))
"""Fatal, but a loader says nothing: it gives tensors of two saves."""


@dataclass(frozen=True, slots=True)
class CheckpointFinding:
    """One thing that is wrong. fatal: the checkpoint must not be restored because of it."""

    code: str
    message: str
    fatal: bool

    def as_json(self) -> dict[str, Any]:
        """The finding as it is stored and sent."""
        return {"code": self.code, "message": self.message, "fatal": self.fatal}


def finding(code: Code, message: str, *, fatal: bool | None = None) -> CheckpointFinding:
    """A finding; unless said, whether it is fatal follows from its code."""
    worst = code not in _WARNINGS if fatal is None else fatal
    return CheckpointFinding(code.value, printable(message), worst)


def named(
    code: Code,
    problem: str,
    names: Collection[str],
    *,
    what: str = "file",
    fatal: bool | None = None,
) -> list[CheckpointFinding]:
    """At most one finding per code: count, problem and the first names; [] without names."""
    if not names:
        return []
    shown = ", ".join(name[:200] for name in sorted(names)[:MAX_NAMED])
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    plural = what if len(names) == 1 else f"{what}s"
    return [finding(code, f"{len(names)} {plural} {problem}: {shown}{more}", fatal=fatal)]


def printable(text: str) -> str:
    """The text without what Postgres or a terminal cannot hold: NUL and lone surrogates escaped."""
    return text.encode("utf-8", "backslashreplace").decode().replace("\x00", "\\0")
