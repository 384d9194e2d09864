"""Records of a followed file, as its reader takes them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from workers.tailer.followed import FollowedFile

PART_DIGITS = 12


@dataclass(frozen=True, slots=True)
class Begin:
    """When a file's process started, in Unix ns, and the step it says that it goes on from."""

    time_ns: int
    resume_step: int | None = None


@dataclass(frozen=True, slots=True)
class Taken:
    """Consecutive records. first: number of records[0] in its part. header: what else the body
    says of them."""

    part: str
    first: int
    records: Sequence[bytes]
    header: Mapping[str, Any] = field(default_factory=dict)


class Taker(Protocol):
    """Reads one source. refused: why it is not read at all. problems: damaged places.

    events: checkpoints that the file gives evidence of and that were not told yet; whoever tells
    them empties the list.
    """

    file: FollowedFile
    refused: str
    problems: set[str]
    events: list[dict[str, Any]]

    def pending(self) -> int:
        """About how many bytes are new; 0 if nothing is."""

    def begin(self, *, final: bool) -> Begin | None:
        """When the process that writes now started; None while the file does not say."""

    def take(self, budget_bytes: int, *, final: bool) -> Taken | None:
        """The next records, about `budget_bytes` of them, and move on; None if there are none.

        final: the file will not grow.
        """


def part_of(generation: int, first_record: bytes) -> str:
    """Names one life of a file: the same after the agent has lost its state, another one when the
    file begins otherwise."""
    digest = hashlib.sha256(first_record).hexdigest()[:PART_DIGITS]
    return f"{generation}.{digest}"
