from hypothesis import given
from hypothesis import strategies as st

from apps.rollbacks.domain.ranking import rank
from tests.rollback_samples import fault, saved, scene

_kinds = st.sampled_from(["explosion", "level_shift", "slow_divergence", "failure", "precursor"])
_steps = st.integers(min_value=0, max_value=2_000)
_saves = st.dictionaries(_steps, st.booleans(), max_size=12).map(
    lambda found: [saved(step, complete=whole) for step, whole in found.items()]
)


def _eligible(ranking):
    return [c.step for c in ranking.candidates if c.eligible]


@given(_saves, _kinds, _steps, st.integers(min_value=0, max_value=500))
def test_an_earlier_onset_never_makes_a_checkpoint_eligible(saves, kind, onset, earlier):
    late = set(_eligible(rank(scene(saves, fault(kind, onset)))))
    early = set(_eligible(rank(scene(saves, fault(kind, onset - earlier)))))
    assert early <= late


@given(_saves, _kinds, _steps, _steps)
def test_an_incomplete_checkpoint_never_changes_the_order_of_the_others(saves, kind, onset, step):
    others = [c for c in saves if c.step != step]
    more = [*others, saved(step, complete=False)]
    before = [c.step for c in rank(scene(others, fault(kind, onset))).candidates]
    after = [c.step for c in rank(scene(more, fault(kind, onset))).candidates]
    assert [s for s in after if s != step] == before


@given(_saves, _kinds, _steps)
def test_no_candidate_lies_behind_the_onset_and_the_eligible_come_first(saves, kind, onset):
    found = rank(scene(saves, fault(kind, onset)))
    assert all(c.step <= onset for c in found.candidates)
    assert [c.eligible for c in found.candidates] == sorted(
        (c.eligible for c in found.candidates), reverse=True
    )
    assert _eligible(found) == sorted(_eligible(found), reverse=True)
    assert len(found.candidates) + len(found.excluded) == len(saves)


@given(_saves, _kinds, _steps)
def test_the_order_of_the_input_does_not_matter(saves, kind, onset):
    shuffled = list(reversed(saves))
    assert rank(scene(shuffled, fault(kind, onset))) == rank(scene(saves, fault(kind, onset)))
