"""accounts.services.actor_of and require"""

import pytest
from django.contrib.auth.models import AnonymousUser, Group, User

from apps.accounts.services import Forbidden, actor_of, require

pytestmark = pytest.mark.django_db


@pytest.fixture
def person():
    def make(group=None, **given):
        user = User.objects.create(username="eve", **given)
        user.groups.set([Group.objects.get_or_create(name=group)[0]] if group else [])
        return user

    return make


@pytest.mark.parametrize(
    ("given", "scopes"),
    [
        ({}, {"read"}),
        ({"group": "readers"}, {"read"}),
        ({"group": "operators"}, {"read", "operate"}),
        ({"is_staff": True}, {"read", "operate"}),
        ({"is_superuser": True}, {"read", "ingest", "operate", "admin"}),
    ],
)
def test_a_role_is_a_set_of_scopes(person, given, scopes):
    user = person(**given)
    actor = actor_of(user)
    assert (actor.kind, actor.name, actor.user_id) == ("user", "eve", user.pk)
    assert actor.scopes == scopes


def test_who_was_shut_out_is_nobody(person):
    assert actor_of(person(is_superuser=True, is_active=False)) is None


def test_a_stranger_is_nobody():
    assert actor_of(AnonymousUser()) is None


@pytest.mark.parametrize("who", [None, {}], ids=["nobody", "a reader"])
def test_a_missing_scope_is_named(person, who):
    actor = who if who is None else actor_of(person(**who))
    with pytest.raises(Forbidden, match='this needs the scope "operate"; ask an administrator'):
        require(actor, "operate")


def test_who_has_the_scope_goes_on(person):
    actor = actor_of(person(group="operators"))
    assert require(actor, "operate") is actor
