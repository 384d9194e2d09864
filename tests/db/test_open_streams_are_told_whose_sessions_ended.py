"""accounts.ended: the word that the event process hears, and what a look at a session finds."""

import json
import time

import pytest
from django.contrib.auth.models import User
from django.test import Client

from apps.accounts import people, sessions
from apps.accounts.records import SYSTEM, Role
from apps.core.live import CHANNEL

END = "nobody: that was all"


@pytest.fixture
def bob(db, valkey):
    return User.objects.create_user("bob")


@pytest.fixture
def browser(bob):
    made = Client()
    made.force_login(bob)
    return made


@pytest.fixture
def words(valkey):
    """words(): the ids of people whose streams were told since the last call."""
    channel = valkey.pubsub(ignore_subscribe_messages=True)
    channel.subscribe(CHANNEL)
    channel.get_message(timeout=5)  # the subscription itself

    def heard():
        valkey.publish(CHANNEL, json.dumps({"person": END}))  # behind all that was said until now
        found = []
        while (person := json.loads(channel.get_message(timeout=60)["data"])["person"]) != END:
            found.append(person)
        return found

    yield heard
    channel.close()


def person_of(key):
    return sessions.person_of(key, int(time.time()))


def key_of(browser):
    return browser.cookies["lastgood_session"].value


def test_signing_out(browser, bob, words):
    key = key_of(browser)
    assert person_of(key) == bob.pk
    browser.post("/logout/")
    assert (words(), person_of(key)) == ([bob.pk], None)


def test_shutting_out_and_not_letting_in(browser, bob, words):
    key = key_of(browser)
    people.set_active(bob.pk, False, actor=SYSTEM)
    assert (words(), person_of(key)) == ([bob.pk], None)
    people.set_active(bob.pk, True, actor=SYSTEM)
    assert words() == []


def test_another_password(browser, bob, words):
    other = Client()
    other.force_login(bob)
    twice = dict.fromkeys(("new_password1", "new_password2"), "correct horse battery")
    browser.post("/settings/password/", twice)
    assert words() == [bob.pk]
    assert person_of(key_of(browser)) == bob.pk
    assert person_of(key_of(other)) is None


def test_a_session_that_rested_too_long(browser, bob, words, settings):
    session = browser.session
    session["began_s"] = session["seen_s"] = 1
    session.save()
    assert person_of(key_of(browser)) is None
    assert browser.get("/audit/").status_code == 302
    assert words() == [bob.pk]


def test_another_role_ends_no_session(browser, bob, words):
    people.change(bob.pk, Role.OPERATOR, "", actor=SYSTEM)
    assert (words(), person_of(key_of(browser))) == ([], bob.pk)


@pytest.mark.parametrize("key", ["", "x", "x" * 32, "\0" * 32])
def test_nobody_is_behind_a_key_of_no_session(db, key):
    assert person_of(key) is None
