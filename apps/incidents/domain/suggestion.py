"""A suggestion and the case it is made for: what is advised, on what, with what to go back to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from apps.core.records import Candidate
from apps.incidents.domain.faults import of_host, own_blame
from apps.incidents.domain.practice import Practice, practice_for
from apps.incidents.domain.scene import Scene
from apps.incidents.domain.weigh import UNKNOWN, Suspicion


class Move(StrEnum):
    """What is suggested."""

    WAIT = "wait"
    ROLL_BACK = "roll back"
    FIX_FIRST = "fix first"
    LOOK = "look"


@dataclass(frozen=True, slots=True)
class AdvicePolicy:
    """Steps and shares.

    wait_steps: BLOOM-176B was back after about 30 steps, a spike of the 13B run after about 500;
    of the incidents that healed in our own runs none took more than 100. falling_ratio: under
    clipping a bad batch loses most of its peak within a few rows, a wrong learning rate keeps more
    than half for dozens of them (own runs). skip_least, skip_most: PaLM skipped 200 to 500 batches,
    own runs with 6 and with 200 skipped ended alike. skip_before: a batch shows one step later.
    """

    wait_steps: int = 100
    falling_ratio: float = 0.5
    skip_least: int = 100
    skip_most: int = 500
    skip_before: int = 2


DEFAULT_POLICY = AdvicePolicy()


@dataclass(frozen=True, slots=True)
class Advice:
    """A suggestion. reason: one sentence. target: the checkpoint to go back to, None without one.

    repair: what to change before or with it, "" if nothing is known to change. practice: who did
    so in such a case, None if nobody is known. cause: what it rests on, in words, "" if none is
    likely.
    """

    move: Move
    reason: str
    target: Candidate | None = None
    repair: str = ""
    practice: Practice | None = None
    cause: str = ""

    @property
    def short(self) -> str:
        """ "Suggestion: fix first, then go back to step 900."."""
        to = "" if self.target is None else f" to step {self.target.step:,}"
        then = f", then go back{to}" if to and self.move is Move.FIX_FIRST else ""
        return f"Suggestion: {self.move}{to if self.move is Move.ROLL_BACK else then}."

    @property
    def sentence(self) -> str:
        """The same with the reason and what to change: for a mail or a program."""
        return f"{self.short} {self.reason}{f' {self.repair}' if self.repair else ''}"


@dataclass(frozen=True, slots=True)
class Case:
    """What the advice is decided on. target: the best eligible checkpoint not tried yet."""

    scene: Scene
    cause: Suspicion | None
    target: Candidate | None

    @property
    def name(self) -> str:
        return self.cause.cause if self.cause else UNKNOWN


def target_of(candidates: Sequence[Candidate], tried: Sequence[int]) -> Candidate | None:
    """The best eligible candidate older than every checkpoint it came back from.

    tried: first steps logged from such a checkpoint: the newest one at or before that step.
    """
    if not tried:
        return next((c for c in candidates if c.eligible), None)
    first = min(tried)
    limit = max((c.step for c in candidates if c.step <= first), default=first)
    return next((c for c in candidates if c.eligible and c.step < limit), None)


def made(case: Case, move: Move, reason: str, repair: str = "") -> Advice:
    """The advice with what fits to it: no rollback without a checkpoint, the practice cited."""
    target = case.target if move in (Move.ROLL_BACK, Move.FIX_FIRST) else None
    tried = case.scene.clues.tried
    if target is not None and tried:
        reason = f"It came back after going on from step {min(tried):,}. {reason}"
    if move is Move.ROLL_BACK and target is None:
        move = Move.FIX_FIRST if repair else Move.LOOK
        reason = f"{reason} No whole checkpoint before the onset is left to go back to."
    ended = case.scene.incident.resolution not in ("", "closed")
    practice = None if ended else practice_for(move.value, case.scene.shape, case.name)
    return Advice(move, reason, target, repair, practice, case.cause.text if case.cause else "")


def early(case: Case, policy: AdvicePolicy = DEFAULT_POLICY) -> bool:
    """Whether it still trains and may yet heal."""
    return case.scene.clues.running and age(case) <= policy.wait_steps


def age(case: Case) -> int:
    """Steps since the loss moved."""
    newest, onset = case.scene.clues.newest_step, case.scene.struck
    return 0 if newest is None or onset is None else max(0, newest - onset)


def fault_of(case: Case) -> str:
    """The fault class of the first suspect, "" without one."""
    suspects = case.scene.incident.suspects
    return suspects[0].fault_class if suspects else ""


def blame_of(case: Case) -> str:
    """Whom the first suspect's class blames, if a project added it; "" otherwise."""
    return own_blame(case.scene.findings, fault_of(case))


def exclude_of(case: Case) -> tuple[str, ...]:
    """The suspected hosts, when hardware is the cause; () otherwise."""
    failed = case.name == "failure" and of_host(fault_of(case), blame_of(case))
    if case.name != "hardware" and not failed:
        return ()
    suspects = case.scene.incident.suspects
    named = [s.node for s in suspects if s.node and s.confidence >= 0.5]
    return tuple(dict.fromkeys(named))
