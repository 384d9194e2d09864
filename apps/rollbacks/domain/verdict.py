"""Did the rollback help? The losses of the new attempt against what was expected of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from apps.core.records import Evidence
from apps.rollbacks.domain.scene import FAILURE
from apps.rollbacks.domain.trend import EMPTY, Curve, Trend, Values, fit


class Outcome(StrEnum):
    """What the numbers say so far."""

    RECOVERED = "recovered"
    RELAPSED = "relapsed"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class VerdictPolicy:
    """When a new attempt has recovered or relapsed. Counts are logged rows.

    min_rows past the onset: "compare the first 50-100 steps with the old curve" (torchtitan#809);
    slow kinds need as many rows as their margin. transient_rows after a resume are ignored: the
    first logged loss may be wrong (Megatron-LM#6237). window_rows, min_history: fit of the trend
    (`trend.fit`). In the band: median residual up to band_z scales or band_ratio of the expected
    loss, whichever is more.
    Clearly out: clear_hits of clear_rows rows above clear_z scales and clear_ratio. better_share:
    of the rows at the same steps that must lie below the abandoned attempt. patience: a mixed
    picture gets up to so many times the rows, then the band decides. same_place_steps: a relapse
    this close to the old onset happened at the same data position.
    """

    min_rows: int = 50
    slow_min_rows: int = 250
    failure_min_rows: int = 20
    transient_rows: int = 2
    window_rows: int = 150
    min_history: int = 40
    band_z: float = 2.0
    band_ratio: float = 0.05
    clear_z: float = 8.0
    clear_ratio: float = 0.25
    clear_rows: int = 5
    clear_hits: int = 3
    better_share: float = 0.75
    min_shared: int = 10
    patience: int = 4
    same_place_steps: int = 10


DEFAULT_POLICY = VerdictPolicy()


@dataclass(frozen=True, slots=True)
class Trial:
    """A new attempt on trial. onset_step: of the incident, in the abandoned attempt.

    before: losses that led to the onset, oldest first. after: losses of the new attempt, from its
    first step. abandoned: losses of the attempt that went wrong. reached_step: newest step of the
    new attempt (for failures, where the loss says nothing).
    """

    kind: str
    onset_step: int
    before: Curve
    after: Curve
    abandoned: Curve = EMPTY
    reached_step: int | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """outcome, the sentences behind it, and the numbers in them (finite, JSON-able)."""

    outcome: Outcome
    evidence: tuple[Evidence, ...]
    numbers: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class _Comparison:
    """The newest judged rows beside the abandoned attempt. better: None if it cannot be told."""

    rows: int
    below: int
    new_median: float
    old_median: float
    better: bool | None


_SLOW = ("slow_divergence", "precursor", "loss_scale_collapse", "plateau")


def rows_needed(kind: str, policy: VerdictPolicy = DEFAULT_POLICY) -> int:
    """Rows past the onset before a verdict is given."""
    if kind == FAILURE:
        return policy.failure_min_rows
    return policy.slow_min_rows if kind in _SLOW else policy.min_rows


def judge(trial: Trial, policy: VerdictPolicy = DEFAULT_POLICY) -> Verdict:
    """Recovered, relapsed, or not yet known.

    Always looks at the first rows past the onset, so the verdict does not depend on how often it is
    asked for; more rows only turn undecided into a verdict.

    Relapsed early: losses clearly above the trend, or non-finite ones, in the new attempt. After
    `rows_needed` rows past the onset: recovered if the median loss lies in the band of the
    pre-incident trend and not above the abandoned attempt at the same steps (unless that one is in
    the band itself); relapsed if neither. A failure has recovered when the new attempt is past the
    failing step. A fallen loss (loss_drop) is judged with the signs exchanged. O(n log n).
    """
    after = Curve(
        trial.after.step[policy.transient_rows :], trial.after.loss[policy.transient_rows :]
    )
    trend = fit(_tail(trial.before, policy.window_rows), min_rows=policy.min_history)
    past = after.from_step(trial.onset_step)
    needed = rows_needed(trial.kind, policy)
    verdict = _waiting(len(past), needed, trial.onset_step)
    for times in range(1, policy.patience + 1):
        judged = Curve(past.step[: times * needed], past.loss[: times * needed])
        broken = _clear_failure(_until(after, judged, trial.onset_step), trend, trial, policy)
        if broken is not None:
            return broken
        if trial.kind == FAILURE:
            return _progress(trial, policy)
        if len(judged) < times * needed:
            break
        verdict = _compare(judged, trend, trial, policy)
        if verdict.outcome is not Outcome.UNDECIDED:
            break
    return verdict


def _waiting(rows: int, needed: int, onset_step: int) -> Verdict:
    text = f"{rows} of {needed} rows past step {onset_step}"
    return Verdict(Outcome.UNDECIDED, (Evidence(text, weight=0),), {"rows": float(rows)})


def _until(after: Curve, judged: Curve, onset_step: int) -> Curve:
    """The rows up to the last judged one: what comes later is another episode."""
    last = int(judged.step[-1]) if len(judged) else onset_step
    kept = after.step <= last
    return Curve(after.step[kept], after.loss[kept])


def _tail(curve: Curve, rows: int) -> Curve:
    return Curve(curve.step[-rows:], curve.loss[-rows:])


def _sign(kind: str) -> float:
    return -1.0 if kind == "loss_drop" else 1.0


def _clear_failure(
    after: Curve, trend: Trend | None, trial: Trial, policy: VerdictPolicy
) -> Verdict | None:
    if not len(after):
        return None
    bad = ~np.isfinite(after.loss)
    if trend is not None and trial.kind != FAILURE:
        with np.errstate(invalid="ignore"):
            above = after.loss - trend.expected(after.step)
            bad |= _sign(trial.kind) * above > _clear_limit(after, trend, policy)
    hits = np.convolve(bad, np.ones(policy.clear_rows), mode="full")[: len(bad)]
    late = np.flatnonzero(hits >= policy.clear_hits)
    if not len(late):
        return None
    first = int(np.flatnonzero(bad[: late[0] + 1])[-policy.clear_hits])
    step, loss = int(after.step[first]), float(after.loss[first])
    same = abs(step - trial.onset_step) <= policy.same_place_steps
    place = (
        "at the same data position: suspect the data, skip it"
        if same
        else "at another place: suspect the state or the hardware, go further back"
    )
    expected = "" if trend is None else f", expected {trend.expected(after.step)[first]:.3f}"
    evidence = Evidence(f"loss {loss:.3f} at step {step}{expected}; {place}", step=step, weight=-1)
    numbers = {"relapse_step": float(step)} | ({"loss": loss} if np.isfinite(loss) else {})
    return Verdict(Outcome.RELAPSED, (evidence,), numbers)


def _progress(trial: Trial, policy: VerdictPolicy) -> Verdict:
    reached = -1 if trial.reached_step is None else trial.reached_step
    wanted = trial.onset_step + policy.failure_min_rows
    done = reached >= wanted
    text = f"reached step {reached}; the failure was at step {trial.onset_step}"
    outcome = Outcome.RECOVERED if done else Outcome.UNDECIDED
    evidence = Evidence(text, step=max(reached, 0), weight=int(done))
    return Verdict(outcome, (evidence,), {"reached_step": float(reached)})


def _compare(judged: Curve, trend: Trend | None, trial: Trial, policy: VerdictPolicy) -> Verdict:
    other = _beside(judged, trial, policy)
    in_band, facts, numbers = _band(judged, trend, trial, policy)
    evidence = [*facts, *_beside_evidence(other)]
    final = len(judged) >= policy.patience * rows_needed(trial.kind, policy)
    outcome = _outcome(in_band, other, final)
    if in_band and outcome is not Outcome.RECOVERED and _abandoned_is_fine(trend, trial, policy):
        evidence.append(Evidence("the abandoned attempt came back into the band", weight=0))
        outcome = Outcome.RECOVERED
    if other is not None:
        numbers |= {"shared_rows": float(other.rows), "below_abandoned": float(other.below)}
    return Verdict(outcome, tuple(evidence), numbers)


def _outcome(in_band: bool | None, other: _Comparison | None, final: bool) -> Outcome:
    better = None if other is None else other.better
    if in_band is None:
        if better is None:
            return Outcome.RECOVERED if final else Outcome.UNDECIDED
        return Outcome.RECOVERED if better else Outcome.RELAPSED
    if in_band and better is not False:
        return Outcome.RECOVERED
    if not in_band and better is not True:
        return Outcome.RELAPSED
    if not final:
        return Outcome.UNDECIDED
    return Outcome.RECOVERED if in_band else Outcome.RELAPSED


def _limit(curve: Curve, trend: Trend, policy: VerdictPolicy) -> float:
    typical = float(np.median(np.abs(trend.expected(curve.step))))
    return max(policy.band_z * trend.scale, policy.band_ratio * typical)


def _clear_limit(curve: Curve, trend: Trend, policy: VerdictPolicy) -> Values:
    ratio = policy.clear_ratio * np.abs(trend.expected(curve.step))
    return np.asarray(np.maximum(ratio, policy.clear_z * trend.scale))


def _inside(curve: Curve, trend: Trend, kind: str, policy: VerdictPolicy) -> bool:
    residual = _sign(kind) * (curve.loss - trend.expected(curve.step))
    middle = float(np.median(np.nan_to_num(residual, nan=np.inf)))
    return middle <= _limit(curve, trend, policy)


def _band(
    judged: Curve, trend: Trend | None, trial: Trial, policy: VerdictPolicy
) -> tuple[bool | None, list[Evidence], dict[str, float]]:
    rows = len(judged)
    first = int(judged.step[0])
    median = float(np.median(judged.loss))
    numbers = {"rows": float(rows), "loss": median}
    if trend is None:
        text = f"median loss {median:.3f}; too few rows before the incident for a trend"
        return None, [Evidence(text, step=first, weight=0)], numbers
    limit = _limit(judged, trend, policy)
    inside = _inside(judged, trend, trial.kind, policy)
    expected = float(np.median(trend.expected(judged.step)))
    numbers |= {"expected": expected, "tolerance": limit}
    text = (
        f"median loss {median:.3f} over {rows} rows from step {first}; "
        f"expected {expected:.3f} \u00b1 {limit:.3f} from {trend.rows} rows before the incident"
    )
    return inside, [Evidence(text, step=first, weight=1 if inside else -1)], numbers


def _beside(judged: Curve, trial: Trial, policy: VerdictPolicy) -> _Comparison | None:
    shared, new, old = np.intersect1d(judged.step, trial.abandoned.step, return_indices=True)
    if len(shared) < policy.min_shared:
        return None
    fresh, spoiled = judged.loss[new], trial.abandoned.loss[old]
    sign = _sign(trial.kind)
    below = int(np.sum(~np.isfinite(spoiled) | (sign * fresh < sign * spoiled)))
    share = below / len(shared)
    better = True if share >= policy.better_share else (False if share <= 0.5 else None)
    finite = spoiled[np.isfinite(spoiled)]
    old_median = float(np.median(finite)) if len(finite) else float("nan")
    return _Comparison(len(shared), below, float(np.median(fresh)), old_median, better)


def _beside_evidence(other: _Comparison | None) -> list[Evidence]:
    if other is None:
        return []
    old = "not finite" if np.isnan(other.old_median) else f"{other.old_median:.3f}"
    text = (
        f"better than the abandoned attempt in {other.below} of {other.rows} rows at the same "
        f"steps (median {other.new_median:.3f}, there {old})"
    )
    weight = 0 if other.better is None else (1 if other.better else -1)
    return [Evidence(text, weight=weight)]


def _abandoned_is_fine(trend: Trend | None, trial: Trial, policy: VerdictPolicy) -> bool:
    tail = _tail(trial.abandoned.from_step(trial.onset_step), rows_needed(trial.kind, policy))
    if trend is None or not len(tail):
        return False
    return _inside(tail, trend, trial.kind, policy)
