"""From the tests of each cause to an order of suspicion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from apps.incidents.domain.checks import TESTS
from apps.incidents.domain.incident import Hypothesis
from apps.incidents.domain.scene import Check, Result

UNKNOWN = "unknown"
_ORDER = {Result.HOLDS: 0, Result.UNTESTED: 1, Result.AGAINST: 2}


@dataclass(frozen=True, slots=True)
class WeighPolicy:
    """named: below this confidence a cause does not name the incident: two weak tests together."""

    named: float = 0.4


DEFAULT_POLICY = WeighPolicy()


@dataclass(frozen=True, slots=True)
class Suspicion:
    """A possible cause with every test that was made of it.

    text: in a few words, what would have happened. confidence: 0 to 1, 0 unless a test holds.
    """

    cause: str
    text: str
    result: Result
    confidence: float
    checks: tuple[Check, ...]


def weigh(
    checks: Mapping[str, Sequence[Check]], told: Sequence[Hypothesis] = ()
) -> tuple[Suspicion, ...]:
    """The causes, most likely first: those whose tests hold, then the untested, then the rest.

    Tests count as independent: confidence is (1 - product of the doubts of those that hold) times
    the doubts of those that speak against. told: the words of the hypotheses of the incident, used
    where they say more than the name of the cause.
    """
    words = {h.cause: h.text for h in told}
    found = [_suspicion(cause, made, words.get(cause, "")) for cause, made in checks.items()]
    return tuple(sorted(found, key=lambda s: (_ORDER[s.result], -s.confidence)))


def leading(
    suspicions: Sequence[Suspicion], policy: WeighPolicy = DEFAULT_POLICY
) -> Suspicion | None:
    """The cause that names the incident; None if no test makes one likely enough."""
    held = [s for s in suspicions if s.confidence >= policy.named]
    return held[0] if held else None


def _suspicion(cause: str, checks: Sequence[Check], words: str) -> Suspicion:
    doubt, rest = 1.0, 1.0
    for check in checks:
        if check.result is Result.HOLDS:
            doubt *= 1.0 - check.weight
        if check.result is Result.AGAINST:
            rest *= 1.0 - check.weight
    results = {check.result for check in checks}
    result = min(results, key=lambda r: (r is not Result.HOLDS, r is not Result.AGAINST))
    confidence = round((1.0 - doubt) * rest, 2)
    ordered = tuple(sorted(checks, key=lambda c: _ORDER[c.result]))
    return Suspicion(cause, words or TESTS[cause][0], result, confidence, ordered)
