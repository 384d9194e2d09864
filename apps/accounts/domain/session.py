"""How long a sign-in lasts: pure decision."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

NOTED_S = 300
"""How old the noted use of a session gets before it is written again."""


@dataclass(frozen=True, slots=True)
class SessionPolicy:
    """age_s: from the sign-in to the next one. idle_s: without any request. 0: any time."""

    age_s: int
    idle_s: int


class Life(Enum):
    """What is to be done about a session."""

    GOES_ON = auto()
    NOTE_USE = auto()
    ENDED = auto()


def judge(began_s: int | None, seen_s: int | None, now_s: int, policy: SessionPolicy) -> Life:
    """Whether a session has ended, and else whether its use is to be noted.

    began_s, seen_s: Unix seconds of the sign-in and of the last use that was noted; None: of a
    session begun before this was kept, which ends when its row does.
    """
    if began_s is None or seen_s is None:
        return Life.GOES_ON
    if policy.age_s and now_s - began_s >= policy.age_s:
        return Life.ENDED
    if policy.idle_s and now_s - seen_s >= policy.idle_s:
        return Life.ENDED
    return Life.NOTE_USE if now_s - seen_s >= NOTED_S else Life.GOES_ON
