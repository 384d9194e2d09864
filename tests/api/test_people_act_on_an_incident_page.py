"""The forms of an incident's page: they work without JavaScript, are audited, and need a role."""

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client

from apps.accounts import store as accounts
from apps.incidents import services
from apps.incidents import store as incidents
from tests import rollback_story
from tests.incident_samples import at, finding
from tests.rollback_samples import falling, raised

ACTS = ("acknowledge", "mitigate", "resolve", "silence", "unsilence", "assign", "note")


@pytest.fixture
def do(operator, incident):
    """Posts a form of the page and gives the page that comes back."""

    def post(what, **fields):
        answer = operator.post(f"/incidents/{incident.id}/{what}/", fields, follow=True)
        assert answer.redirect_chain == [(f"/incidents/{incident.id}/", 302)]
        return answer.content.decode()

    return post


def now(incident):
    return incidents.get(incident.id)


@pytest.mark.parametrize(("span", "words"), [("1", "until <time"), ("resolved", "until it is")])
def test_an_incident_is_silenced_and_heard_again(do, incident, span, words):
    page = do("silence", reason="known & <b>harmless</b>", **{"for": span})
    assert f"<strong>Silenced</strong> {words}" in page
    assert "known &amp; &lt;b&gt;harmless&lt;/b&gt;" in page
    assert "End the silence" not in do("unsilence")
    assert now(incident).silenced_until_ns is None


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"for": "1"}, "a reason is missing"),
        ({"for": "9", "reason": "x"}, "a silence ends in the future"),
    ],
)
def test_a_silence_without_reason_or_end_is_refused(do, incident, fields, why):
    assert why in do("silence", **fields)
    assert now(incident).silenced_until_ns is None


def test_an_incident_is_given_to_me_to_another_and_to_nobody(do, incident):
    User.objects.create_user("bob")
    assert "owner ada" in do("assign", to_me="yes")
    assert "owner bob" in do("assign", owner="bob")
    assert "no owner" in do("assign", owner="")
    assert "there is no user" in do("assign", owner="mallory")


def test_who_acknowledges_takes_over(do):
    assert "owner ada" in do("acknowledge")


def test_what_was_done_about_it_is_told(do, incident):
    page = do("mitigate", reason="rate halved")
    assert "mitigated: rate halved" in page
    assert "Mark as mitigated" not in page
    assert now(incident).state == "mitigated"


def test_a_note_is_shown_as_the_text_it_is(do, incident):
    page = do("note", text="<script>alert(1)</script>\nline two", key="k")
    assert "&lt;script&gt;alert(1)&lt;/script&gt;\nline two" in page
    do("note", text="sent twice", key="k")
    assert len(incidents.notes(incident.run_id, incident.id)) == 1


def test_what_is_over_offers_no_more_than_a_note_and_an_owner(do):
    page = do("resolve", reason="batch skipped")
    assert "Add the note" in page and "Assign to me" in page
    assert "Silence 1 h" not in page and "Resolve INC-" not in page
    assert "a resolved incident cannot be changed by silence" in do(
        "silence", reason="x", **{"for": "1"}
    )


def test_each_act_says_who_and_why_in_the_audit_trail(do):
    do("silence", reason="known", **{"for": "4"})
    row = accounts.audit_rows(1)[0]
    assert (row.actor, row.action, row.reason) == ("user:ada", "incident.silenced", "known")


@pytest.mark.parametrize("what", ACTS)
def test_a_reader_may_look_and_change_nothing(reader, incident, what):
    assert reader.post(f"/incidents/{incident.id}/{what}/").status_code == 403
    page = reader.get(f"/incidents/{incident.id}/").content.decode()
    assert "Export" in page and "Add the note" not in page and "Silence" not in page


@pytest.mark.parametrize("what", ACTS)
def test_no_act_is_done_by_a_link_or_without_the_token_of_the_page(operator, incident, what):
    assert operator.get(f"/incidents/{incident.id}/{what}/").status_code == 405
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(User.objects.get(username="ada"))
    assert strict.post(f"/incidents/{incident.id}/{what}/").status_code == 403
    assert now(incident).acts == 0


def test_after_a_relapse_the_page_says_where_and_names_an_older_checkpoint(operator, incident):
    rollback_story.start(1)
    rollback_story.log(incident.run_id, 1, raised(falling(900, 1100, seed=2), 2.5, at=1001))
    again = finding("again", step=1003, attempt=1)
    services.absorb(incident.run_id, 1, [again], at(9_000))
    page = operator.get(f"/incidents/{incident.id}/").content.decode()
    words = " ".join(re.sub(r"<[^>]+>", " ", page).split())
    assert "It came back at step 1,003 in attempt 1." in words
    assert "Go back further: step 750 is the newest checkpoint that was not tried." in words
    choices = operator.get(f"/runs/boom/rollback/?incident={incident.id}").content.decode()
    assert "tried: attempt 1 started from it and relapsed at step 1,003" in choices
