"""The tests of each possible cause: what was tested, on what, and how it came out."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from apps.core.records import Finding
from apps.core.words import duration, many, number
from apps.incidents.domain.clues import Passage
from apps.incidents.domain.correlate import SCRIPT_ALERT
from apps.incidents.domain.incident import EarliestSignal
from apps.incidents.domain.scene import DEFAULT_POLICY, Check, CheckPolicy, Result, Scene
from apps.incidents.domain.shape import Shape, planned
from apps.incidents.domain.suspects import apart_ranks
from apps.metrics.domain.layer_keys import recogniser

Test = Callable[[Scene, CheckPolicy], list[Check]]


def learning_rate(scene: Scene, policy: CheckPolicy) -> list[Check]:
    """The learning rate at the onset."""
    test = "the logged learning rate around the onset"
    rate = scene.clues.rate
    if rate is None or scene.onset is None:
        why = "the learning rate is not logged" if rate is None else "the onset has no step"
        return [Check(test, Result.UNTESTED, why)]
    moved = f"{number(rate.before)} → {number(rate.after)}"
    if rate.jump_step is not None and abs(rate.jump_step - scene.onset) <= policy.same_steps:
        seen = f"it changed {moved} at step {rate.jump_step:,}"
        return [Check(test, Result.HOLDS, seen, policy.sure)]
    if rate.rising:
        seen = f"it climbed {moved} before the onset, higher than in the steps before"
        return [Check(test, Result.HOLDS, seen, policy.likely)]
    seen = f"it was {number(rate.after)} and did not jump"
    return [Check(test, Result.AGAINST, seen, policy.likely)]


def change(scene: Scene, policy: CheckPolicy) -> list[Check]:
    """The configuration and the code, against the attempt before."""
    test = "the configuration beside that of the attempt before"
    clues, onset = scene.clues, scene.onset
    healthy = None if onset is None or clues.first_step is None else onset - clues.first_step
    if healthy is not None and healthy >= policy.settle_steps:
        seen = f"the same process had trained {healthy:,} steps with it"
        return [Check("configuration and code", Result.AGAINST, seen, policy.fair)]
    config = clues.config
    if config is None:
        return [Check(test, Result.UNTESTED, "there is no attempt before this one")]
    return [_config(test, scene, policy), _code(scene, policy)]


def _config(test: str, scene: Scene, policy: CheckPolicy) -> Check:
    config = scene.clues.config
    if config is None or config.changed is None:
        return Check(test, Result.UNTESTED, "one of the two attempts sent no configuration")
    if not config.changed:
        return Check(test, Result.AGAINST, f"the same as in attempt {config.against}", policy.fair)
    shown = "; ".join(config.changed[:3])
    more = f" and {len(config.changed) - 3} more" if len(config.changed) > 3 else ""
    seen = f"since attempt {config.against}: {shown}{more}"
    return Check(test, Result.HOLDS, seen, policy.likely if config.steering else policy.fair)


def _code(scene: Scene, policy: CheckPolicy) -> Check:
    test = "the git commit beside that of the attempt before"
    before, after = scene.clues.config.commits if scene.clues.config else ("", "")
    if not before or not after:
        return Check(test, Result.UNTESTED, "no git commit was sent with both attempts")
    if before == after:
        return Check(test, Result.AGAINST, f"both run {after[:10]}", policy.weak)
    return Check(test, Result.HOLDS, f"{before[:10]} → {after[:10]}", policy.fair)


def resume(scene: Scene, policy: CheckPolicy) -> list[Check]:
    """A restart just before, and the optimizer state it went on with."""
    test, seen = "a restart just before the onset", scene.clues.resume
    if seen is None:
        return [Check(test, Result.AGAINST, "none: this attempt began the run", policy.likely)]
    before = f"{many(seen.steps, 'step')} before"
    text = f"attempt {seen.attempt} began at step {seen.fork_step:,}, {before}"
    if seen.steps > policy.resume_steps:
        return [Check(test, Result.AGAINST, text, policy.likely)]
    near = policy.fair if seen.steps <= policy.transient_steps else policy.weak
    return [Check(test, Result.HOLDS, text, near), _optimizer_state(seen.optimizer, policy)]


def _optimizer_state(there: bool | None, policy: CheckPolicy) -> Check:
    test = "optimizer state in the checkpoint it went on from"
    if there is None:
        return Check(test, Result.UNTESTED, "its list of files does not tell")
    if there:
        return Check(test, Result.AGAINST, "it is there", policy.weak)
    return Check(test, Result.HOLDS, "no file of it holds any", policy.likely)


_OF_DATA = frozenset({
    Shape.HEALED, Shape.OUTLIER, Shape.DIVERGENCE, Shape.LEVEL_SHIFT, Shape.NONFINITE,
    Shape.TOO_GOOD, Shape.RANK_APART,
})  # fmt: skip
"""What data can do. A drift that other runs have at the same step is the schedule's."""


def data(scene: Scene, policy: CheckPolicy) -> list[Check]:
    """The same data seen by another pass, and whether it healed by itself."""
    if scene.shape not in _OF_DATA:
        return []
    checks = [_passage(p, scene, policy) for p in scene.clues.passages]
    if not checks:
        at = f"step {scene.struck:,}" if scene.struck is not None else "these steps"
        asked = scene.clues.runs_asked
        beside = f", nor any of {asked} other runs of the project" if asked else ""
        why = f"no other attempt trained {at}{beside}"
        checks = [Check("the same step in another pass", Result.UNTESTED, why)]
    if scene.shape is Shape.HEALED and _lasted(scene) <= policy.heal_steps:
        seen = "it came back into its band by itself, as after a bad batch"
        checks.append(Check("the loss after the spike", Result.HOLDS, seen, policy.fair))
    return checks


def _first_calm(scene: Scene) -> Passage | None:
    """The healthy sibling that counts: several say no more than one."""
    calm = (p for p in scene.clues.passages if p.same_order and not (p.own or p.outlier))
    return next(calm, None)


def _lasted(scene: Scene) -> int:
    """Steps from the onset to the end of what has ended."""
    ends = [f.closed_step for f in scene.findings if f.closed_step is not None]
    return max(ends, default=0) - (scene.struck or 0)


def _passage(passage: Passage, scene: Scene, policy: CheckPolicy) -> Check:
    test = f"step {passage.step:,} in {passage.named}"
    if passage.outlier:
        far = "no number" if passage.z is None else f"{passage.z:+.0f} robust standard deviations"
        return Check(
            test, Result.HOLDS, f"the same outlier at the same step ({far})", policy.strong
        )
    if passage.own and _was_skipped(passage, scene):
        return Check(test, Result.HOLDS, "normal after its data was skipped", policy.likely)
    if passage.own:
        return Check(test, Result.AGAINST, "normal, over the same steps", policy.likely)
    if passage.same_order:
        seen = "normal, with the same seed and data settings"
        weight = policy.other_state if passage == _first_calm(scene) else 0.0
        return Check(test, Result.AGAINST, seen, weight)
    why = (
        "its seed or data settings differ"
        if passage.same_order is False
        else "its data order is unknown"
    )
    return Check(test, Result.UNTESTED, f"normal, but {why}")


def _was_skipped(passage: Passage, scene: Scene) -> bool:
    return any(
        attempt == passage.attempt and first <= passage.step <= last
        for attempt, (first, last) in scene.skipped
    )


def numerics(scene: Scene, policy: CheckPolicy) -> list[Check]:
    """Loss scale, and values that are no numbers."""
    return [_scale(scene, policy), _nonfinite(scene, policy)]


def _scale(scene: Scene, policy: CheckPolicy) -> Check:
    test, scale = "the loss scale before the onset", scene.clues.scale
    if scale is None:
        return Check(test, Result.UNTESTED, "no loss scale is logged (bf16 has none)")
    fell = f"{number(scale.before)} → {number(scale.lowest)}"
    if scale.lowest * policy.scale_ratio <= scale.before:
        return Check(test, Result.HOLDS, f"it fell {fell}", policy.likely)
    return Check(test, Result.AGAINST, f"it stayed ({fell})", policy.fair)


def _nonfinite(scene: Scene, policy: CheckPolicy) -> Check:
    test, rows = "losses and gradient norms that are no numbers", scene.clues.nonfinite_rows
    if "nonfinite" in scene.kinds():
        return Check(test, Result.HOLDS, "they repeat", policy.likely)
    if rows is None:
        return Check(test, Result.UNTESTED, "neither is logged")
    if rows:
        return Check(test, Result.HOLDS, f"{many(rows, 'row')} near the onset", policy.weak)
    return Check(test, Result.AGAINST, "none near the onset", policy.weak)


def hardware(scene: Scene, policy: CheckPolicy) -> list[Check]:
    """One rank or one layer apart from all others, and what happened to the hosts."""
    checks = [_ranks(scene, policy), _nodes(scene, policy), *_weights(scene, policy)]
    signal = scene.earliest
    if signal is not None and signal.layer is not None and signal.more == 0:
        seen = f"{signal.named} moved, no other layer with it"
        checks.append(Check("one layer before all others", Result.HOLDS, seen, policy.weak))
    return checks


def _ranks(scene: Scene, policy: CheckPolicy) -> Check:
    test, apart = "the same series of every rank at the same step", apart_ranks(scene.findings)
    if len(apart) == 1:
        named = next((h for h in scene.incident.hypotheses if h.cause == "hardware"), None)
        seen = f"rank {min(apart)} is apart from all others"
        return Check(test, Result.HOLDS, seen, named.confidence if named else policy.likely)
    if apart:
        seen = f"{many(len(apart), 'rank')} are apart: no single one"
        return Check(test, Result.AGAINST, seen, policy.weak)
    if scene.clues.ranks_logged:
        return Check(test, Result.AGAINST, "no rank is apart", policy.fair)
    return Check(test, Result.UNTESTED, "no loss of single ranks is logged")


def _nodes(scene: Scene, policy: CheckPolicy) -> Check:
    test, events = "events of the hosts around the onset", scene.clues.events
    if not scene.clues.hosts:
        return Check(test, Result.UNTESTED, "it is not known on which hosts the attempt ran")
    if not events:
        hosts = many(len(scene.clues.hosts), "host")
        why = f"none arrived from its {hosts} (none happened, or nobody sends them)"
        return Check(test, Result.UNTESTED, why)
    accused = {s.node for s in scene.incident.suspects}
    first = min(events, key=lambda e: (e.node not in accused, e.time_ns))
    away_s = (first.time_ns - scene.incident.onset_time_ns) / 1e9
    when = f"{duration(abs(away_s))} {'before' if away_s <= 0 else 'after'} the onset"
    weight = policy.strong if first.node in accused else policy.fair
    return Check(
        test, Result.HOLDS, f"{first.node}: {first.kind} {first.message[:120]}, {when}", weight
    )


def _weights(scene: Scene, policy: CheckPolicy) -> list[Check]:
    """Weights that move without an update were changed from outside. That they stayed says nothing:
    a small part of them hardly shows in a norm."""
    seen = scene.clues.weights
    if seen is None or seen.updated:
        return []
    test = "norms of weights beside those of their updates"
    moved = f"{seen.words} moved at step {seen.step:,}"
    if seen.updated is None:
        return [Check(test, Result.HOLDS, f"{moved}; no update norm is logged", policy.weak)]
    return [Check(test, Result.HOLDS, f"{moved}, and no update norm before it", policy.likely)]


def planned_change(scene: Scene, policy: CheckPolicy) -> list[Check]:
    """What people or the configuration announced."""
    test, said = (
        "changes that were announced, logged or configured for these steps",
        planned(scene.findings),
    )
    if said:
        return [Check(test, Result.HOLDS, said, policy.sure)]
    return [Check(test, Result.AGAINST, "none is known", policy.fair)]


_EARLY_KINDS = frozenset({"precursor", "layer_trend", "loss_scale_collapse"})
_STATE = ("update", "activation", "attention", "logit", "norm", "ratio", "adam", "router")


def optimizer(scene: Scene, policy: CheckPolicy) -> list[Check]:
    """Whether the state of the optimisation moved before the loss did."""
    test, signal = "update norms, activations and attention logits before the loss", scene.earliest
    if signal is not None and signal.lead_steps >= policy.lead_steps and _tells_state(signal):
        seen = f"{signal.named} moved {many(signal.lead_steps, 'step')} before"
        return [Check(test, Result.HOLDS, seen, policy.fair)]
    if (ahead := _ahead(scene, policy)) is not None:
        return [Check(test, Result.HOLDS, ahead.title, policy.fair)]
    if not scene.clues.layers_logged:
        return [Check(test, Result.UNTESTED, "no statistics of layers are logged")]
    seen = f"none left its band {policy.lead_steps} steps or more before it"
    return [Check(test, Result.AGAINST, seen, policy.weak)]


def _ahead(scene: Scene, policy: CheckPolicy) -> Finding | None:
    """An early sign that began well before the loss moved, or is all there is."""
    limit = scene.struck
    if limit is None:
        return None
    if scene.shape is not Shape.EARLY_SIGN:
        limit -= policy.lead_steps
    signs = [f for f in scene.findings if f.kind in _EARLY_KINDS and f.onset_step is not None]
    found = [f for f in signs if (f.onset_step or 0) <= limit]
    return min(found, key=lambda f: f.onset_step or 0, default=None)


def _tells_state(signal: EarliestSignal) -> bool:
    name = signal.series.lower()
    return recogniser().recognise(signal.series) is not None or any(w in name for w in _STATE)


def failure(scene: Scene, policy: CheckPolicy) -> list[Check]:
    """What the first failure in the logs is."""
    test = "the first failure in the logs of all ranks"
    said = [h for h in scene.incident.hypotheses if h.cause == "failure"]
    if not said:
        return [Check(test, Result.AGAINST, "no rank failed", policy.fair)]
    return [Check(test, Result.HOLDS, said[0].text, max(said[0].confidence, policy.weak))]


def reported(scene: Scene, policy: CheckPolicy) -> list[Check]:
    """What the training script said by itself."""
    told = [f for f in scene.findings if f.kind == SCRIPT_ALERT]
    if not told:
        return []
    return [
        Check(
            "none: it is what the script passed to run.alert()",
            Result.HOLDS,
            told[0].title,
            policy.fair,
        )
    ]


TESTS: dict[str, tuple[str, Test]] = {
    "planned": ("a planned change", planned_change),
    "failure": ("a process failed", failure),
    "learning_rate": ("the learning rate", learning_rate),
    "change": ("configuration or code changed", change),
    "resume": ("the restart", resume),
    "data": ("the data of these steps", data),
    "numerics": ("number formats (overflow)", numerics),
    "hardware": ("hardware of one rank or host", hardware),
    "optimizer": ("an unstable optimisation", optimizer),
    "reported": ("the training script reported it", reported),
}
"""cause -> (its name on the card, its test)."""


OF_ANY_INCIDENT = ("planned", "failure", "hardware", "reported")
"""Causes of what is not about the loss: a slow job, a late save, silence."""


def run_all(scene: Scene, policy: CheckPolicy = DEFAULT_POLICY) -> dict[str, Sequence[Check]]:
    """cause -> the tests that were made for it; causes that cannot apply are left out."""
    causes = OF_ANY_INCIDENT if scene.shape is Shape.MEASURE else TESTS
    made = {cause: TESTS[cause][1](scene, policy) for cause in causes}
    return {cause: checks for cause, checks in made.items() if checks}
