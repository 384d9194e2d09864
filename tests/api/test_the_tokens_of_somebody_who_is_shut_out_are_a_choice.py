"""/settings/members/: tokens that a person made end with them, or go on and are said to."""

import re

import pytest
from django.contrib.auth.models import User

from apps.accounts import people, services, store
from apps.accounts.records import SYSTEM, Actor
from apps.accounts.services import make_token

MEMBERS, TOKENS = "/settings/members/", "/settings/tokens/"


@pytest.fixture
def bob(db, valkey, fresh_caches):
    return User.objects.create_user("bob")


@pytest.fixture
def made(bob):
    """Secrets of two tokens of bob and one of ada, by name."""
    makers = {"agents": "bob", "grafana": "bob", "ours": "ada"}
    return {
        name: make_token(name, ["ingest"], actor=Actor("user", who, frozenset()))
        for name, who in makers.items()
    }


def number(name):
    return store.token_ids(name)[0]


def working(made):
    services._verified.clear()
    return {name for name, secret in made.items() if services.verify_token(secret)}


def shut_out(browser, bob, *token_ids):
    form = {"active": "no", "reason": "left", "token": token_ids}
    return browser.post(f"{MEMBERS}{bob.pk}/active/", form)


def test_the_form_offers_each_and_ticks_it(operator, bob, made):
    page = operator.get(f"{MEMBERS}{bob.pk}/").content.decode()
    ticked = re.findall(r'name="token" value="(\d+)" checked', page)
    assert {int(one) for one in ticked} == {number("agents"), number("grafana")}


def test_those_that_are_ticked_end_and_the_others_go_on(operator, bob, made):
    ended = number("grafana")
    assert shut_out(operator, bob, ended).status_code == 302
    assert working(made) == {"agents", "ours"}
    found = [(row.action, row.object, row.reason) for row in store.audit_rows(2)]
    assert found == [
        ("token.revoked", f"token {ended}", "left"),
        ("person.shut_out", "user bob", "left"),
    ]


def test_what_others_made_is_never_ended_by_it(operator, bob, made):
    shut_out(operator, bob, number("ours"), "x", "9" * 30)
    assert working(made) == set(made)


def test_the_last_administrator_keeps_their_tokens(operator, bob, made):
    ada = User.objects.get(username="ada")
    assert shut_out(operator, ada, number("ours")).status_code == 409
    assert working(made) == set(made)


def test_those_that_go_on_are_said_and_ended_from_their_page(operator, bob, made):
    people.set_active(bob.pk, False, actor=SYSTEM)
    listed = operator.get(TOKENS).content.decode()
    assert "2 tokens were made by people who are shut out" in listed
    assert listed.count("who is shut out") == 2
    page = operator.get(f"{MEMBERS}{bob.pk}/").content.decode()
    assert "Tokens that still work (2)" in page
    form = {"token": [number("agents"), number("ours")], "reason": "moved"}
    assert operator.post(f"{MEMBERS}{bob.pk}/tokens/", form).status_code == 302
    assert working(made) == {"grafana", "ours"}
    assert "1 token was made by people" in operator.get(TOKENS).content.decode()


def test_nobody_is_told_of_tokens_whose_makers_are_here(operator, bob, made):
    assert "shut out" not in operator.get(TOKENS).content.decode()
