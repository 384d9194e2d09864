"""What is asked of the child process, and what it answers: one line of JSON each."""

from __future__ import annotations

import msgspec

from apps.checkpoints.domain.codes import CheckpointFinding
from apps.checkpoints.storage.listing import Bounds
from apps.checkpoints.storage.mounts import Kind
from apps.checkpoints.storage.s3 import S3Access


class Target(msgspec.Struct, frozen=True):
    """Where to look, and how fast. bytes_s: 0 for any speed. within: the folders that may be looked
    at: where a path leads when its links are followed, only the child can see."""

    bucket: str
    path: str
    access: S3Access
    bytes_s: int
    within: tuple[str, ...] = ()


class ScanAsk(msgspec.Struct, frozen=True, tag="scan"):
    """Look at a root. known: path below the root -> fingerprint of what was checked before.

    pattern: "" if everything belongs to one run (pattern.py).
    """

    target: Target
    bounds: Bounds
    pattern: str = ""
    known: dict[str, str] = {}


class HashAsk(msgspec.Struct, frozen=True, tag="hash"):
    """Read whole files. files: name below the target -> bytes it should have."""

    target: Target
    files: dict[str, int]


class EraseAsk(msgspec.Struct, frozen=True, tag="erase"):
    """Delete one checkpoint, exactly as registered, or only say what speaks against it.

    files: name below the target -> how it was registered; nothing else is deleted. alone: the
    target is the folder around its one file, whatever else lies there. within: folders of the file
    system, one of which it must really lie in. looked_at_ns: nothing may have been written since.
    begun: files may be gone already. only_look: nothing is deleted. files_s: how many a second,
    0: any number.
    """

    target: Target
    files: dict[str, FileSeen]
    alone: bool
    within: tuple[str, ...]
    looked_at_ns: int
    begun: bool
    only_look: bool
    files_s: int


Ask = ScanAsk | HashAsk | EraseAsk


class RoomSeen(msgspec.Struct, frozen=True, tag="room"):
    """On what the root lies and how full that is; None where a bucket cannot say."""

    kind: Kind
    mount_type: str
    mount_source: str
    total_bytes: int | None = None
    free_bytes: int | None = None


class ListingSeen(msgspec.Struct, frozen=True, tag="listing"):
    """What the listing was like. bytes: of all files together."""

    files: int
    bytes: int
    cut: str
    outside: tuple[str, ...]
    unread: tuple[str, ...]
    vanished: int
    other: int
    unmatched: int


class FileSeen(msgspec.Struct, frozen=True, array_like=True):
    """One file of a step; an inventory takes it as it is."""

    size: int
    mtime_ns: int | None = None
    etag: str | None = None


class StepSeen(msgspec.Struct, frozen=True, tag="step"):
    """One checkpoint. run: what stands for {run} in the pattern. path: of its folder or file, below
    the root. step: None if its name tells none. level: as in domain/codes.py."""

    run: str
    path: str
    step: int | None
    layout: str
    fingerprint: str
    saved_at_ns: int
    files: dict[str, FileSeen]
    level: str
    findings: tuple[CheckpointFinding, ...]
    bytes_read: int
    bytes_total: int
    unchecked: tuple[str, ...]


class SameSeen(msgspec.Struct, frozen=True, tag="same"):
    """One checkpoint that looks as it did when it was checked."""

    run: str
    path: str


class GoneSeen(msgspec.Struct, frozen=True, tag="gone"):
    """One checkpoint of which files went away while it was checked: the next look tells."""

    run: str
    path: str


class PartSeen(msgspec.Struct, frozen=True, tag="part"):
    """One checkpoint of which not everything was listed: it cannot be judged."""

    run: str
    path: str


class BesideSeen(msgspec.Struct, frozen=True, tag="beside"):
    """What is wrong beside the steps: a pointer, a leftover. folder: below the root."""

    run: str
    folder: str
    finding: CheckpointFinding


class FileHashed(msgspec.Struct, frozen=True, tag="hashed"):
    """A file was read to its end. bytes: how many that were. summed: all of it has checksums of its
    own; bad_parts: where they disagree with what was read."""

    name: str
    bytes: int
    sha256: str
    summed: bool = False
    bad_parts: tuple[str, ...] = ()


class SumsSeen(msgspec.Struct, frozen=True, tag="sums"):
    """What the framework wrote down of its files (integrity.json): name -> SHA-256."""

    files: dict[str, str]


class FileLost(msgspec.Struct, frozen=True, tag="unhashed"):
    """A file could not be read to its end."""

    name: str
    reason: str
    gone: bool


class Progress(msgspec.Struct, frozen=True, tag="progress"):
    """Bytes read so far, all files together."""

    bytes: int


class Objected(msgspec.Struct, frozen=True, tag="objected"):
    """Why a checkpoint is not deleted, or not to its end."""

    reason: str


class Erased(msgspec.Struct, frozen=True, tag="erased"):
    """So many files were deleted, the last of them too."""

    files: int


class Failed(msgspec.Struct, frozen=True, tag="failed"):
    """The root cannot be looked at. gone: it is not there."""

    reason: str
    gone: bool = False


class Done(msgspec.Struct, frozen=True, tag="done"):
    """The last line: everything that was asked was looked at."""


Answer = (
    RoomSeen
    | ListingSeen
    | StepSeen
    | SameSeen
    | GoneSeen
    | PartSeen
    | BesideSeen
    | FileHashed
    | FileLost
    | SumsSeen
    | Progress
    | Objected
    | Erased
    | Failed
    | Done
)


class Order(msgspec.Struct, frozen=True):
    """The one line that the child reads: what to do, and with how much."""

    ask: Ask
    memory_bytes: int
    cpu_s: int


decode_order = msgspec.json.Decoder(Order).decode
decode_answer = msgspec.json.Decoder(Answer).decode
encode = msgspec.json.Encoder().encode
