from hypothesis import given
from hypothesis import strategies as st

from apps.rollbacks.domain.offers import offers
from apps.rollbacks.domain.ranking import rank
from apps.rollbacks.domain.scene import Evaluated, Health
from tests.rollback_samples import saved, scene


def by_name(checkpoints):
    return {offer.name: offer for offer in offers(checkpoints, 5.0)}


def acc(value):
    return (Evaluated("acc", value, True),)


def test_each_offer_may_be_another_one_with_its_reason():
    found = by_name([
        saved(900, health=Health(loss_z=9.0)),
        saved(800, health=Health(loss_z=3.0)),
        saved(700, health=Health(loss_z=0.4)),
        saved(600, health=Health(loss_z=4.0), scores=acc(0.7)),
        saved(500, scores=acc(0.6)),
    ])  # fmt: skip
    assert {name: (o.step, o.why) for name, o in found.items()} == {
        "newest safe": (800, "least work to do again of those without a sign of illness"),
        "healthiest": (700, "at most +0.4 robust standard deviations before the save"),
        "best evaluated": (600, "acc 0.7, the best of 2 evaluated"),
    }


def test_what_there_is_none_of_says_why():
    assert {o.why for o in offers([], 5.0)} == {"no checkpoint is eligible"}
    found = by_name([saved(900)])
    assert found["newest safe"].step == 900
    assert (found["healthiest"].step, found["best evaluated"].step) == (None, None)
    assert found["best evaluated"].why == "no eligible checkpoint was evaluated"
    ill = by_name([saved(900, health=Health(nonfinite=1))])
    assert ill["newest safe"].why == "before every eligible one something was wrong already"


def test_less_is_better_where_the_evaluation_says_so():
    low, high = (Evaluated("ppl", 8.0, False),), (Evaluated("ppl", 9.0, False),)
    assert by_name([saved(900, scores=high), saved(800, scores=low)])["best evaluated"].step == 800


def test_noise_is_no_reason_to_go_back_further():
    found = by_name([saved(900, health=Health(loss_z=0.8)), saved(300, health=Health(loss_z=-2.0))])
    assert found["healthiest"].step == 900


@given(
    st.dictionaries(st.integers(0, 2_000), st.floats(-3, 12) | st.just(float("inf")), max_size=8)
)
def test_an_offer_is_always_an_eligible_candidate(healths):
    ranking = rank(scene([saved(step, health=Health(loss_z=z)) for step, z in healths.items()]))
    eligible = {(c.attempt, c.step) for c in ranking.candidates if c.eligible}
    assert len(ranking.offers) == 3
    assert all(o.step is None or (o.attempt, o.step) in eligible for o in ranking.offers)
