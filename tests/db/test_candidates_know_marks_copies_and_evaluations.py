"""rollbacks.choosing.ranking over real rows of the registry."""

import pytest

from apps.checkpoints import evaluations, marks, retention_store
from apps.checkpoints.domain.deletion import State
from apps.checkpoints.domain.scores import Measured
from apps.checkpoints.retention_store import Deletion
from apps.core.clock import now_ns
from apps.incidents import store as incidents
from apps.rollbacks import choosing, services
from apps.rollbacks.weighing import _merged
from tests import rollback_story
from tests.incident_samples import at, finding
from tests.rollback_samples import falling
from tests.rollback_story import ADA, asked

pytestmark = pytest.mark.django_db


@pytest.fixture
def incident():
    return rollback_story.explode()


def ranking(incident):
    return choosing.ranking(incident.run_id, incident)


def said(incident, step, name):
    found = next(c for c in ranking(incident).candidates if c.step == step)
    term = next(term for term in found.terms if term.name == name)
    return [e.text for e in term.said] or [term.silent]


def test_a_pin_and_a_tag_are_told(incident):
    marks.pin(incident.run_id, (0, 750), reason="before the new data", actor=ADA)
    marks.tag(incident.run_id, (0, 750), "golden", actor=ADA)
    assert said(incident, 750, "kept") == [
        "pinned by ada: before the new data", "tagged golden by ada",
    ]  # fmt: skip


def test_the_best_evaluated_one_is_offered(incident):
    for step, value in ((900, 0.51), (600, 0.55)):
        measured = Measured("hellaswag", "acc", value, higher_is_better=True)
        pushed = evaluations.Pushed("quick", step, (measured,))
        evaluations.record(incident.run_id, pushed, ADA, at(2_000))
    offers = {offer.name: offer for offer in ranking(incident).offers}
    assert (offers["best evaluated"].step, offers["newest safe"].step) == (600, 900)
    assert offers["best evaluated"].why == "quick hellaswag acc 0.55, the best of 2 evaluated"
    assert said(incident, 900, "evaluation") == [
        "quick hellaswag acc 0.51, the best up to here is 0.55 at step 600"
    ]


def test_a_place_that_nobody_looked_at_says_so(incident):
    assert said(incident, 900, "where it lies") == [
        "shared: /data/boom/step-900, as announced: no storage was looked at"
    ]


def test_an_illness_that_was_not_over_at_the_save_is_told(incident):
    seen = finding("early", "rank_outlier", 880, title="Rank 5 is apart", seen_step=910)
    incidents.save_findings(incident.run_id, [seen], None)
    assert "not over when it was saved: Rank 5 is apart" in said(incident, 900, "health")
    assert not any("Rank 5" in text for text in said(incident, 750, "health"))
    assert ranking(incident).candidates[0].step == 750


def test_an_earlier_start_its_end_and_its_loading_time_are_told(incident):
    order = services.request(asked(750))
    rollback_story.start(1)
    rollback_story.log(incident.run_id, 1, falling(750, 900, seed=2))
    services.watch(incident.run_id, 1, at(9_000))
    assert said(incident, 750, "earlier starts") == ["attempt 1 began from it: it is at step 899"]
    assert said(incident, 900, "earlier starts") == ["no attempt began from it"]
    (restore,) = said(incident, 750, "restore")
    assert restore.endswith("to load: from launch to first step, the median of 1 start")
    assert order.step == 750


def test_the_newest_ones_are_not_read_one_by_one(incident):
    assert _merged([900, 750, 5_000], 2_000) == [(-1_250, 900), (3_000, 5_000)]
    assert _merged([], 2_000) == []


@pytest.mark.parametrize(
    ("state", "eligible", "text"),
    [
        (
            State.WAITING,
            True,
            "the rules of retention delete it in 2 h 00 min, unless it is chosen",
        ),
        (State.DELETING, False, "it is being deleted now"),
        (State.SPARED, True, "nothing protects it from rotation"),
    ],
)
def test_a_deletion_that_is_planned_or_goes_on_is_told(incident, state, eligible, text):
    now = now_ns()
    due = now + 7_200 * 10**9 + 10**9
    one = Deletion(incident.run_id, 0, 900, state, now, due, now, "lastgood", 10)
    retention_store.save([one])
    found = next(c for c in ranking(incident).candidates if c.step == 900)
    assert found.eligible is eligible
    reasons = [e.text for e in found.reasons] + [t.silent for t in found.terms if t.name == "kept"]
    assert text in reasons
