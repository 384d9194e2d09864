"""incidents.domain.cause."""

import pytest

from apps.incidents.domain.cause import LR_CHANGED, hypotheses
from apps.incidents.domain.suspects import merge_suspects
from tests.incident_samples import (
    WARN,
    ended,
    explosion,
    failure,
    finding,
    level_shift,
    rank_outlier,
)


def _causes(*findings, onset=1001, nodes=None):
    return hypotheses(findings, merge_suspects(findings, nodes), onset)


def test_a_learning_rate_jump_at_the_onset_is_the_cause_in_exactly_these_words():
    first = _causes(explosion())[0]
    assert first.text == LR_CHANGED == "learning rate changed at the same step"
    assert first.test == "the logged learning rate around the onset step"
    assert first.evidence[0].text == "learning rate 0.0006 -> 0.024 at step 1,000"


@pytest.mark.parametrize(
    "onset,cause",
    [
        (998, "learning_rate"),
        (1002, "learning_rate"),
        (997, "unknown"),
        (1003, "unknown"),
        (None, "unknown"),
    ],
)
def test_a_learning_rate_jump_elsewhere_is_not_the_cause(onset, cause):
    assert _causes(explosion(), onset=onset)[0].cause == cause


def test_one_rank_apart_raises_the_suspicion_against_its_hardware():
    first = _causes(level_shift(), rank_outlier(), onset=701, nodes={5: "gpu-b02"})[0]
    assert first.text == (
        "rank 5 (gpu-b02) is apart from all other ranks: suspected silent data corruption"
    )
    assert first.test == "the same series of every rank compared at the same step"


def test_a_changed_learning_rate_weighs_more_than_one_rank_apart():
    causes = _causes(explosion(), rank_outlier(step=1010))
    assert [c.cause for c in causes] == ["learning_rate", "hardware"]


def test_two_ranks_apart_raise_no_suspicion_against_hardware():
    causes = _causes(level_shift(), rank_outlier(5), rank_outlier(1), onset=701)
    assert [c.cause for c in causes] == ["unknown"]


def test_a_spike_that_healed_makes_the_data_suspect():
    spike = finding("o", "outlier", 350, WARN, **ended(9, 350))
    assert _causes(spike, onset=350)[0].text == (
        "the spike healed by itself: the data of step 350 is suspect"
    )


def test_a_failure_names_who_failed_first():
    assert _causes(failure(), onset=120)[0].text == "rank 6 (gpu-b02) failed first: py exception"


def test_the_words_of_the_triage_win():
    said = failure(facts={"cause_hint": "Rank 6 on gpu-b02 hung"})
    assert _causes(said, onset=120)[0].text == "Rank 6 on gpu-b02 hung"


def test_no_known_cause_says_what_was_looked_at():
    only = _causes(level_shift(), onset=701)
    assert [c.text for c in only] == ["no known cause"]
    assert only[0].test == "no rank is apart, no failure is logged, it has not healed"
