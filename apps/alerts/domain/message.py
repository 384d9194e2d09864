"""What messages there are about an incident, as values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What a message says. Stored: never rename a value.

    flapping: opens an episode in place of an opening message, for a signal that came and went too
    often. escalation: what was announced as a warning needs a person now. digest: once a day.
    notice: a sentence to administrators. The last two are about no incident.
    """

    OPENING = "opening"
    REMINDER = "reminder"
    CLOSING = "closing"
    FLAPPING = "flapping"
    ESCALATION = "escalation"
    DIGEST = "digest"
    NOTICE = "notice"
    ACKNOWLEDGED = "acknowledged"  # for channels that follow the state, never a mail


ASIDE = (Kind.DIGEST, Kind.NOTICE)
"""About no incident."""

OPENERS = (Kind.OPENING, Kind.FLAPPING)
"""An episode has one of them."""


class Status(StrEnum):
    """Where a message stands. Stored: never rename a value.

    folded: another message said it too. withdrawn: it lost its reason before it was sent.
    failed: it cannot be sent, the error says why; a person may try again.
    """

    PENDING = "pending"
    SENT = "sent"
    FOLDED = "folded"
    WITHDRAWN = "withdrawn"
    FAILED = "failed"


DONE = frozenset({Status.SENT, Status.FOLDED})


@dataclass(frozen=True, slots=True)
class Message:
    """A message that exists already for one recipient. due_ns: as it was planned last.

    urgent: it says that a person must look now. told_ns: when it, or the message that it was
    folded into, was sent; None before.
    """

    kind: Kind
    seq: int
    status: Status
    due_ns: int | None = None
    urgent: bool = True
    told_ns: int | None = None

    @property
    def done(self) -> bool:
        """Whether the recipient has been told."""
        return self.status in DONE


Messages = Mapping[tuple[Kind, int], Message]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A message that should exist. seq: the episode for all but reminders, which are counted."""

    kind: Kind
    seq: int
    due_ns: int
    urgent: bool = True


@dataclass(frozen=True, slots=True)
class Decision:
    """wanted: to add, or to bring forward. withdrawn: to drop if not yet sent."""

    wanted: tuple[Wanted, ...] = ()
    withdrawn: tuple[tuple[Kind, int], ...] = ()


def announced(existing: Iterable[Message]) -> bool:
    """Whether the first opening message needs no more planning."""
    return any((m.kind, m.seq) == (Kind.OPENING, 0) and m.done for m in existing)


def unreachable(existing: Iterable[Message]) -> bool:
    """Whether an opening message could not be sent to this recipient, and none was before."""
    openings = {m.status for m in existing if m.kind in OPENERS}
    return Status.FAILED in openings and not openings & DONE


def episode_of(messages: Messages) -> int:
    """The number of the present episode: how many have been closed before."""
    return sum(m.kind is Kind.CLOSING and m.done for m in messages.values())


def opener_of(messages: Messages, episode: int) -> Message | None:
    """The message that opens an episode, unless it was withdrawn."""
    found = [messages[kind, episode] for kind in OPENERS if (kind, episode) in messages]
    return next((m for m in found if m.status is not Status.WITHDRAWN), None)


def last_opener(messages: Messages) -> Message | None:
    """The opener of the newest episode that has one."""
    openers = [m for m in messages.values() if m.kind in OPENERS]
    standing = [m for m in openers if m.status is not Status.WITHDRAWN]
    return max(standing, key=lambda m: m.seq, default=None)


def waiting(messages: Messages, kind: Kind, seq: int | None = None) -> tuple[tuple[Kind, int], ...]:
    """The messages of a kind that wait to be sent."""
    pending = (m for m in messages.values() if m.status is Status.PENDING and m.kind is kind)
    return tuple((m.kind, m.seq) for m in pending if seq in (None, m.seq))
