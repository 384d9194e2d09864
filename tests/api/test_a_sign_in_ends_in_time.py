"""Sessions: begun anew at each sign-in, ended by age, by rest, by a POST, by another password."""

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session

from apps.accounts.domain.session import NOTED_S, Life, SessionPolicy, judge

POLICY = SessionPolicy(age_s=1_000_000, idle_s=10_000)


@pytest.fixture
def ada(client, db, valkey, settings):
    """Ada has signed in with her password."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    User.objects.create_superuser("ada", "", "correct horse battery")
    client.post("/login/", {"username": "ada", "password": "correct horse battery"})
    return client


def moved(browser, **seconds):
    """The session as if its times were so many seconds earlier."""
    session = browser.session
    for name, ago_s in seconds.items():
        session[name] -= ago_s
    session.save()


@pytest.mark.parametrize(
    ("began_s", "seen_s", "now_s", "life"),
    [
        (None, None, 5, Life.GOES_ON),
        (0, 0, NOTED_S - 1, Life.GOES_ON),
        (0, 0, NOTED_S, Life.NOTE_USE),
        (0, 0, 9_999, Life.NOTE_USE),
        (0, 0, 10_000, Life.ENDED),
        (0, 999_999, 1_000_000, Life.ENDED),
    ],
)
def test_age_and_rest_are_counted(began_s, seen_s, now_s, life):
    assert judge(began_s, seen_s, now_s, POLICY) is life


def test_without_limits_nothing_ends():
    assert judge(0, 0, 10**9, SessionPolicy(0, 0)) is Life.NOTE_USE


def test_a_sign_in_has_another_session_than_the_page_before_it(client, db, valkey):
    User.objects.create_user("eve", password="x")
    session = client.session
    session["planted"] = True
    session.save()
    before = session.session_key
    client.post("/login/", {"username": "eve", "password": "x"})
    assert client.session.session_key != before
    assert not Session.objects.filter(session_key=before).exists()


def test_after_two_weeks_people_sign_in_again(ada, settings):
    assert ada.get("/audit/").status_code == 200
    moved(ada, began_s=settings.SESSION_COOKIE_AGE)
    answer = ada.get("/audit/?actor=ada")
    assert answer["Location"] == "/login/?next=/audit/%3Factor%3Dada"
    assert not Session.objects.exists()


def test_after_three_days_without_a_page_too(ada, settings):
    moved(ada, seen_s=settings.SESSION_IDLE_S)
    assert ada.get("/audit/").status_code == 302
    assert ada.get("/api/v1/runs").status_code == 401


def test_use_is_noted_now_and_then(ada):
    moved(ada, seen_s=NOTED_S)
    before = ada.session["seen_s"]
    ada.get("/audit/")
    noted = ada.session["seen_s"]
    ada.get("/audit/")
    assert before < noted == ada.session["seen_s"]


def test_signing_out_takes_a_post_and_ends_the_session(ada):
    assert ada.get("/logout/").status_code == 405
    assert ada.get("/audit/").status_code == 200
    assert ada.post("/logout/")["Location"] == "/login/"
    assert not Session.objects.exists()


def test_no_script_reads_the_cookie_and_no_other_site_sends_it(ada):
    cookie = ada.cookies["lastgood_session"]
    assert (cookie["httponly"], cookie["samesite"]) == (True, "Lax")


def test_a_part_of_a_page_is_refused_and_never_the_login_page(client, db):
    answer = client.get("/?part=board", headers={"HX-Request": "true"})
    assert (answer.status_code, answer.content) == (401, b"you are signed out")


@pytest.mark.parametrize("path", ["/", "/login/"])
def test_a_cookie_that_no_session_can_have_is_a_strangers(client, db, path):
    answer = client.get(path, headers={"Cookie": 'lastgood_session="\\000aaaaaaaa"'})
    assert answer.status_code == client.get(path).status_code


@pytest.mark.parametrize("path", ["/runs/boom/deck.json", "/runs/boom/logs/matrix"])
def test_so_is_what_a_script_asks_for(client, db, path):
    """Else a login link would lead there."""
    answer = client.get(path, headers={"Accept": "application/*"})
    assert (answer.status_code, answer.content) == (401, b"you are signed out")


def test_a_browser_that_goes_to_a_page_is_sent_to_the_sign_in(client, db):
    answer = client.get("/runs/boom/", headers={"Accept": "text/html,application/xml;q=0.9,*/*"})
    assert answer["Location"] == "/login/?next=/runs/boom/"
