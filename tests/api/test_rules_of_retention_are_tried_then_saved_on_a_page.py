"""/runs/<run>/retention/"""

import pytest

from apps.accounts import store as accounts
from apps.checkpoints import deleting, marks, retention
from apps.checkpoints.domain.retention import Rules
from apps.core.clock import now_ns
from apps.rollbacks import keeping
from apps.runs import store as runs
from tests import retention_samples

pytestmark = pytest.mark.django_db
PAGE = "/runs/boat/retention/"
LAST_THREE = {"last": "3", "act": "save", "seen": "0"}


@pytest.fixture
def run():
    """Ten hourly saves of 1,000 bytes."""
    return retention_samples.run_with(now_ns(), range(100, 1_100, 100))


def rules():
    return retention.rules_of(runs.get_run("boat"))


def test_without_rules_the_page_says_that_everything_is_kept(operator, run):
    page = operator.get(PAGE).content.decode()
    assert "everything: no rule is set" in page
    assert page.count("kept</span>") == 10
    assert "No rule is set" in page
    assert "deleting is off" in page


def test_a_run_that_saves_every_few_seconds_gets_words_and_no_empty_figure(operator):
    seconds = retention_samples.run_with(now_ns(), range(100, 1_100, 100), every_s=13)
    page = operator.get(PAGE).content.decode()
    assert seconds and "The run saves every 13 s: more often in a day than is looked ahead" in page
    assert "In 0 days" not in page


def test_rules_are_tried_on_what_is_there_and_nothing_is_saved(operator, run):
    page = operator.post(PAGE, {**LAST_THREE, "act": "try"}).content.decode()
    assert "You are trying rules" in page
    assert "7 would go</span>" in page
    assert "Would go</dt>" in page and "6.8 KiB" in page
    assert rules().rules == Rules()


def test_a_preset_is_tried_by_its_address(reader, run):
    page = reader.get(f"{PAGE}?preset=exponential").content.decode()
    assert "all of 6 h 00 min, then ever fewer with their age" in page
    assert "Exponential: lives" in page


def test_rules_are_saved_with_who_and_why(operator, run):
    answer = operator.post(PAGE, {**LAST_THREE, "reason": "the disk is full"}, follow=True)
    assert b"Saved." in answer.content
    assert (rules().rules.last, rules().changed_by, rules().deletes) == (3, "ada", False)
    (line,) = [one for one in accounts.audit_rows(5) if "retention" in one.action]
    assert (line.actor, line.reason) == ("user:ada", "the disk is full")
    assert line.after["last"] == 3


def test_who_saw_older_rules_is_told(operator, run):
    operator.post(PAGE, LAST_THREE)
    answer = operator.post(PAGE, {**LAST_THREE, "last": "1"})
    assert answer.status_code == 409
    assert b"ada changed the rules" in answer.content
    assert rules().rules.last == 3


def test_rules_of_a_project_count_for_its_other_runs(operator, run):
    retention_samples.run_with(now_ns(), [100, 200], key="other")
    operator.post(PAGE, {**LAST_THREE, "of_project": "yes"})
    assert rules().of_project
    assert retention.rules_of(runs.get_run("other")).rules.last == 3
    own = {"last": "9", "act": "save", "seen": str(rules().changed_at_ns)}
    operator.post("/runs/other/retention/", own)
    assert retention.rules_of(runs.get_run("other")).rules.last == 9
    assert rules().rules.last == 3


def test_a_pinned_checkpoint_is_locked_with_its_reason(operator, run):
    from apps.accounts.records import SYSTEM

    marks.pin(run.id, (0, 200), reason="the paper", actor=SYSTEM)
    page = operator.post(PAGE, {**LAST_THREE, "act": "try"}).content.decode()
    assert "Pinned by lastgood: the paper" in page
    assert "5 would go</span>" in page


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        ({"last": "many"}, "is no number"),
        ({"within": "nan"}, "is no number of hours"),
        ({"dense": "6"}, "does not know the save interval"),
        ({"best": "3"}, "would keep evaluated checkpoints alone"),
        ({"last": "1000000"}, "0 to 100,000"),
    ],
)
def test_senseless_rules_are_refused_by_field(operator, run, sent, words):
    answer = operator.post(PAGE, {"act": "save", "seen": "0", **sent})
    assert answer.status_code == 400
    assert words in answer.content.decode()
    assert rules().rules == Rules()


def test_who_may_only_read_sees_the_plan_and_changes_nothing(reader, run):
    assert b"Changing this needs the scope" in reader.get(PAGE).content
    assert reader.post(PAGE, LAST_THREE).status_code == 403
    assert rules().rules == Rules()


def test_a_run_without_checkpoints_has_a_page(operator):
    runs.ensure_run("boat")
    page = operator.get(PAGE).content.decode()
    assert "no checkpoint that lies on a storage" in page
    assert "Three intervals between saves are needed" in page


def test_deleting_is_switched_on_by_administrators_only(client, run):
    from django.contrib.auth.models import User

    client.force_login(User.objects.create_user("olga", is_staff=True))
    assert b'name="deletes"' not in client.get(PAGE).content
    assert client.post(PAGE, {**LAST_THREE, "deletes": "yes"}).status_code == 400
    assert not rules().deletes


def test_a_planned_deletion_is_taken_back_on_the_page(operator, run):
    page = operator.post(PAGE, {**LAST_THREE, "deletes": "yes"}, follow=True).content
    assert b"Nothing can be deleted" in page
    deleting.plan_all(keeping.guards, now_ns())
    page = operator.get(PAGE).content.decode()
    assert "7 wait to be deleted, the first " in page
    assert "in 23 h 59 min" in page
    back = operator.post(
        f"{PAGE}0/200/keep/", {"reason": "the paper"}, follow=True
    ).content.decode()
    assert "Step 200 stays: it is pinned now." in back
    assert "Pinned by ada: the paper" in back
    assert "taken back" in back
    assert operator.post(f"{PAGE}0/900/keep/").status_code == 404
    assert operator.post(f"{PAGE}0/300/again/").status_code == 409
