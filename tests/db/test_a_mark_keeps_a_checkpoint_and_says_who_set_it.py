import pytest

from apps.accounts import store as accounts
from apps.checkpoints import marks, marks_store, services
from apps.checkpoints.records import MarkKind
from apps.core.errors import NotFound, Refused
from tests.incident_samples import T0, at
from tests.rollback_story import ADA, save, start

pytestmark = pytest.mark.django_db
AT = (0, 300)


@pytest.fixture
def run_id():
    found = start(0)
    save(found, 0, 300, 450)
    return found


def held(run_id, now_ns=T0):
    return {
        place: [(m.kind.value, m.name, m.reason) for m in found]
        for place, found in marks.protections(run_id, now_ns).items()
    }


def test_each_kind_is_set_once_and_taken_off(run_id):
    marks.pin(run_id, AT, reason="the paper", actor=ADA)
    marks.pin(run_id, AT, reason="the paper, table 2", actor=ADA)
    marks.tag(run_id, AT, "release 1", actor=ADA)
    marks.lease(run_id, AT, "evaluation 7", until_ns=at(100), reason="mmlu")
    assert held(run_id) == {
        AT: [
            ("lease", "evaluation 7", "mmlu"),
            ("pin", "", "the paper, table 2"),
            ("tag", "release 1", ""),
        ]
    }
    assert marks.unpin(run_id, AT, reason="published", actor=ADA)
    assert marks.untag(run_id, AT, "release 1", actor=ADA)
    assert marks.release(run_id, AT, "evaluation 7")
    assert held(run_id) == {}
    assert not marks.unpin(run_id, AT, reason="again", actor=ADA)
    assert not marks.release(run_id, AT, "evaluation 7")


def test_a_lease_ends_by_itself_and_is_prolonged_by_its_holder(run_id):
    marks.lease(run_id, AT, "job", until_ns=at(100), reason="mmlu")
    assert held(run_id, at(99)) and not held(run_id, at(100))
    marks.lease(run_id, AT, "job", until_ns=at(200), reason="mmlu")
    assert held(run_id, at(199)) == {AT: [("lease", "job", "mmlu")]}


def test_what_a_person_does_is_audited(run_id):
    marks.pin(run_id, AT, reason="the paper", actor=ADA)
    marks.unpin(run_id, AT, reason="published", actor=ADA)
    rows = [(r.actor, r.action, r.object, r.reason) for r in accounts.audit_rows(10)]
    assert sorted(rows) == [
        ("user:ada", "checkpoint.pin", "checkpoint 0/300", "the paper"),
        ("user:ada", "checkpoint.unpin", "checkpoint 0/300", "published"),
    ]


@pytest.mark.parametrize(
    ("reason", "message"), [(" ", "the reason is missing"), ("x" * 501, "the reason is too long")]
)
def test_a_pin_says_why(run_id, reason, message):
    with pytest.raises(Refused, match=message):
        marks.pin(run_id, AT, reason=reason, actor=ADA)


def test_what_is_not_there_cannot_be_kept(run_id):
    with pytest.raises(NotFound, match="attempt 0 has no checkpoint at step 7"):
        marks.pin(run_id, (0, 7), reason="x", actor=ADA)
    services.deleted(run_id, AT, why="rotation", at_ns=at(400))
    with pytest.raises(Refused, match="step 300 is deleted"):
        marks.tag(run_id, AT, "x", actor=ADA)


def test_the_marks_of_one_checkpoint_are_bounded(run_id):
    for number in range(marks_store.MAX_OF_ONE):
        marks.tag(run_id, AT, f"t{number}", actor=ADA)
    marks.tag(run_id, AT, "t0", reason="again", actor=ADA)
    with pytest.raises(Refused, match="has 50 marks already"):
        marks.tag(run_id, AT, "one more", actor=ADA)
    assert marks_store.of_checkpoint(run_id, AT, 0)[0].kind is MarkKind.TAG
