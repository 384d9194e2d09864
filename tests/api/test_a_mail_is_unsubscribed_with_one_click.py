"""The link of List-Unsubscribe (RFC 8058) and the page of somebody's own mails."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from apps.accounts import store as accounts
from apps.alerts import leaving, mail_store, rules_store, store
from apps.alerts.models import Rule
from apps.core.records import FindingSeverity

ANN, BOB = "ann@example.org", "bob@example.org"
ONE_CLICK = {"List-Unsubscribe": "One-Click"}


@pytest.fixture
def client(settings, db):
    """Somebody without a login, who gets no CSRF token either."""
    settings.ALERT_RECIPIENTS = [ANN, BOB]
    settings.PUBLIC_URL = "https://lastgood.example.org"
    return Client(enforce_csrf_checks=True)


@pytest.fixture
def ann(db):
    user = User.objects.create_user("ann", ANN)
    page = Client()
    page.force_login(user)
    return page


def link(recipient=ANN, *rules):
    return leaving.link(recipient, rules or (0,)).removeprefix("https://lastgood.example.org")


def rule(name="warnings", severity=FindingSeverity.WARN):
    made = Rule.objects.create(
        name=name, severities=[severity.value], everybody=True, changed_at_ns=0, changed_by="t"
    )
    return made.pk


def audited():
    return [row.action for row in accounts.audit_rows(50) if row.action.startswith("alerts.")]


@pytest.mark.parametrize("method", ["get", "head", "options"])
def test_opening_the_link_changes_nothing(client, method):
    answer = getattr(client, method)(link())
    assert answer.status_code in (200, 405)
    assert (rules_store.left(), audited()) == (frozenset(), [])


def test_a_mail_program_unsubscribes_without_login_cookie_or_token(client):
    answer = client.post(link(), ONE_CLICK)
    assert answer.status_code == 200
    assert rules_store.left() == {(0, ANN)}
    assert audited() == ["alerts.left_rule"]


def test_a_second_click_changes_nothing_and_undo_brings_the_mails_back(client):
    assert [client.post(link(), ONE_CLICK).status_code for _ in range(2)] == [200, 200]
    assert client.post(link(), {"back": "yes"}).status_code == 200
    assert rules_store.left() == frozenset()
    assert audited() == ["alerts.came_back_to_rule", "alerts.left_rule"]


def test_only_that_rule_is_left(client):
    number = rule()
    client.post(link(ANN, number), ONE_CLICK)
    assert rules_store.left() == {(number, ANN)}


def test_the_last_one_of_a_critical_rule_stays_and_the_administrators_are_told(client):
    User.objects.create_superuser("root", "root@example.org")
    client.post(link(BOB), ONE_CLICK)
    answers = [client.post(link(ANN), ONE_CLICK) for _ in range(2)]
    assert [a.status_code for a in answers] == [409, 409]
    assert b"You still get these mails" in answers[0].content
    assert rules_store.left() == {(0, BOB)}
    (notice,) = store.deliveries()
    assert (notice.kind, notice.recipient) == ("notice", "root@example.org")
    assert notice.subject.startswith("ann@example.org wants no more mails by")
    assert audited().count("alerts.leaving_refused") == 1


def test_the_last_one_of_a_rule_for_warnings_may_go(client):
    number = rule()
    assert [client.post(link(to, number)).status_code for to in (ANN, BOB)] == [200, 200]


@pytest.mark.parametrize(
    "damage", [lambda t: t[:-2] + "/", lambda t: t.replace("/leave/", "/leave/x")]
)
def test_a_damaged_link_does_nothing_and_says_what_to_do(client, damage):
    answer = client.post(damage(link()), ONE_CLICK)
    assert answer.status_code == 404
    assert b"use the link of a newer mail" in answer.content.lower()
    assert rules_store.left() == frozenset()


def test_a_person_sets_zone_and_digest_and_comes_back_to_a_rule(client, ann):
    client.post(link(), ONE_CLICK)
    assert b"default recipients" in ann.get("/alerts/mine/").content
    ann.post("/alerts/mine/", {"back": "0"})
    assert rules_store.left() == frozenset()
    ann.post("/alerts/mine/", {"zone": "Europe/Berlin"})
    assert mail_store.habits(ANN) == mail_store.Habits("Europe/Berlin", digest=False)
    assert "alerts.mail_habits" in audited()


def test_an_unknown_zone_is_refused(client, ann):
    answer = ann.post("/alerts/mine/", {"zone": "Mars/Olympus"}, follow=True)
    assert b"There is no such time zone" in answer.content
    assert mail_store.habits(ANN).zone == ""


def test_somebody_without_an_address_is_told_so(db):
    page = Client()
    page.force_login(User.objects.create_user("eve"))
    assert b"has no mail address" in page.get("/alerts/mine/").content
