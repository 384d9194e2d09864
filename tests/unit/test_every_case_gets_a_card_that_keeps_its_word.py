"""incidents.domain.card on every combination of what may be known and not known."""

from hypothesis import given as for_all
from hypothesis import strategies as st

from apps.core.records import NodeEvent
from apps.incidents.domain.card import card_of
from apps.incidents.domain.clues import (
    Clues,
    ConfigSeen,
    Passage,
    RateSeen,
    ResumeSeen,
    ScaleSeen,
    WeightsSeen,
)
from apps.incidents.domain.suggestion import Move
from tests.card_samples import CANDIDATES, given, signal
from tests.incident_samples import INFO, PAGE, WARN, at, ended, finding

maybe_bool = st.sampled_from([None, True, False])
steps = st.integers(0, 3_000)
passages = st.builds(
    Passage, st.just("k"), st.integers(0, 3), st.booleans(), steps,
    st.floats(allow_nan=False), st.booleans(), maybe_bool,
)  # fmt: skip
number = st.floats(0, 1e6)
any_clues = st.builds(
    Clues,
    first_step=st.none() | steps,
    newest_step=st.none() | steps,
    step_s=st.none() | st.floats(0, 100),
    gpus=st.none() | st.integers(1, 16_000),
    left_ratio=st.none() | st.floats(-1, 2),
    rate=st.none() | st.builds(RateSeen, number, number, st.none() | steps, st.booleans()),
    config=st.none()
    | st.builds(ConfigSeen, st.just(0), st.none() | st.just(()) | st.just(("lr: 1 → 2",))),
    resume=st.none() | st.builds(ResumeSeen, st.just(1), steps, steps, maybe_bool),
    scale=st.none() | st.builds(ScaleSeen, number, number),
    weights=st.none() | st.builds(WeightsSeen, st.just("w"), steps, maybe_bool),
    nonfinite_rows=st.none() | steps,
    passages=st.lists(passages, max_size=4).map(tuple),
    ranks_logged=st.booleans(),
    layers_logged=st.booleans(),
    hosts=st.sampled_from([(), ("a",)]),
    events=st.sampled_from([(), (NodeEvent("a", at(1000), "xid", "error", "79"),)]),
    tried=st.lists(steps, max_size=2).map(tuple),
)
KINDS = (
    "failure", "nonfinite", "explosion", "slow_divergence", "level_shift", "loss_drop", "outlier",
    "rank_outlier", "precursor", "plateau", "missing_loss", "throughput_drop", "script_alert", "x",
)  # fmt: skip
any_finding = st.builds(
    lambda key, kind, step, severity, facts, over: finding(
        f"f{key}", kind, step, severity, rank=5 if kind == "rank_outlier" else None, facts=facts,
        **(ended(5, step) if over and step is not None else {}),
    ),
    st.integers(0, 9), st.sampled_from(KINDS), st.none() | steps,
    st.sampled_from([INFO, WARN, PAGE]),
    st.sampled_from([{}, {"planned": "batch size"}, {"lr_change_step": 1000}]), st.booleans(),
)  # fmt: skip


@for_all(
    st.lists(any_finding, min_size=1, max_size=4),
    any_clues,
    st.sampled_from([(), CANDIDATES, CANDIDATES[2:]]),
    st.sampled_from([None, signal()]),
)
def test_every_case_gets_a_card_that_keeps_its_word(findings, facts, candidates, earliest):
    made = card_of(given(*findings, clues=facts, candidates=candidates, earliest_signal=earliest))
    target = made.advice.target
    assert made.causes
    assert all(0 <= c.confidence <= 1 for c in made.causes)
    assert made.advice.reason.endswith(".")
    assert made.advice.move is not Move.ROLL_BACK or target is not None
    assert target is None or (target.eligible and all(target.step < t for t in facts.tried))
    assert made.skip is None or (
        made.cause is not None
        and made.cause.cause == "data"
        and 0 < made.skip[1] - made.skip[0] < 500
    )
    assert not made.exclude or (made.cause and made.cause.cause in ("hardware", "failure"))
    assert made.advice.practice is None or made.advice.practice.move == made.advice.move
