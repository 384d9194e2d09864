"""POST /login/oidc/ and back, with a real provider: who comes in, as what, and who does not."""

from dataclasses import replace

import pytest
from django.contrib.auth.models import Group, User
from django.contrib.sessions.models import Session

from apps.accounts import people_store, store
from apps.accounts.models import Identity
from apps.accounts.records import Role
from tests.oidc_trip import arrived, said, set_up

pytestmark = pytest.mark.django_db
GROUPS = {Role.ADMIN: frozenset({"leads"}), Role.OPERATOR: frozenset({"oncall"})}


@pytest.fixture
def trip(client, valkey, settings):
    """trip(**provider settings): the answer to whoever comes back from the provider."""
    with set_up(client, settings) as going:
        yield going


def known(name="ada", mail="ada@example.org", role=Role.VIEWER, **fields):
    user = User.objects.create_user(name, mail, **fields)
    people_store.set_role(user, role)
    return user


def role(user):
    return people_store.role_of(User.objects.get(pk=user.pk))


def trail(action):
    return [row for row in reversed(store.audit_rows(100)) if row.action == action]


def test_the_first_time_a_person_is_found_by_the_verified_mail_address(client, trip):
    ada = known(mail="Ada@Example.org")
    assert trip()["Location"] == "/"
    assert arrived(client) == ada
    (linked,) = trail("identity.linked")
    assert linked.object == "user ada" and linked.after["subject"] == "1"
    assert (linked.actor, linked.address) == ("system:lastgood", "127.0.0.1")
    (login,) = trail("login.by_provider")
    assert (login.actor, login.address) == ("user:ada", "127.0.0.1")


def test_ever_after_by_the_identity_whatever_the_address_is(client, trip):
    ada = known()
    trip()
    client.logout()
    User.objects.create_user("eve", "new@example.org")
    trip.provider.person |= {"email": "new@example.org"}
    trip()
    assert arrived(client) == ada
    assert Identity.objects.count() == 1


@pytest.mark.parametrize("claims", [{"email_verified": False}, {"email_verified": None}])
def test_an_address_that_is_not_verified_finds_nobody(client, trip, claims):
    known()
    trip.provider.person |= claims
    answer = trip(creates=True, groups={Role.VIEWER: frozenset("*")})
    assert answer.status_code == 403
    assert "Your mail address is not verified" in said(answer)
    assert arrived(client) is None and not Identity.objects.exists()


def test_an_address_may_be_trusted_where_the_provider_says_nothing(client, trip):
    ada = known()
    del trip.provider.person["email_verified"]
    assert trip(trusts_mail=True)["Location"] == "/"
    assert arrived(client) == ada


def test_but_not_where_it_says_no(client, trip):
    known()
    trip.provider.person["email_verified"] = False
    assert trip(trusts_mail=True).status_code == 403


def test_somebody_unknown_is_told_what_to_do_and_leaves_a_line(client, trip):
    answer = trip()
    assert answer.status_code == 403
    assert "You are not known here yet" in said(answer)
    assert "gave is ada@example.org. Ask an administrator" in said(answer)
    (line,) = trail("login.refused")
    assert line.actor == "stranger:127.0.0.1" and line.object == "Okta"
    assert line.after == {"issuer": trip.provider.url, "subject": "1"}
    assert "ada@example.org" not in str(line)
    assert arrived(client) is None and not User.objects.exists()


def test_somebody_unknown_becomes_a_person_where_that_is_allowed(client, trip):
    trip.provider.person["groups"] = ["oncall", "others"]
    assert trip(creates=True, groups=GROUPS)["Location"] == "/"
    user = arrived(client)
    assert (user.username, user.email) == ("ada", "ada@example.org")
    assert role(user) is Role.OPERATOR and not user.has_usable_password()
    (added,) = trail("person.added")
    assert added.after == {"role": "operator", "by": "Okta"}
    assert added.address == "127.0.0.1"


def test_a_new_person_gets_no_address_that_is_not_verified(client, trip):
    trip.provider.person["email_verified"] = False
    trip(creates=True, groups={Role.VIEWER: frozenset("*")})
    assert arrived(client).email == ""


@pytest.mark.parametrize(
    ("claims", "headline"),
    [
        ({"preferred_username": "Eve"}, "Somebody here has your name"),
        ({"preferred_username": "\uff25ve"}, "Somebody here has your name"),
        ({"preferred_username": "\u2474", "email": ""}, "You are not known here yet"),
        ({"preferred_username": "no name", "email": ""}, "You are not known here yet"),
    ],
)
def test_no_name_is_given_twice_or_made_up(client, trip, claims, headline):
    known("eve", "")
    trip.provider.person |= claims
    answer = trip(creates=True, groups={Role.VIEWER: frozenset("*")})
    assert headline in said(answer)
    assert User.objects.count() == 1


@pytest.mark.parametrize(
    "mail", ["a\ud800@b.org", "a\0@b.org", "a\n@b.org", "no address", 7, [], {}]
)
def test_an_odd_mail_address_is_none(client, trip, mail):
    trip.provider.person["email"] = mail
    trip(creates=True, groups={Role.VIEWER: frozenset("*")})
    assert arrived(client).email == ""


@pytest.mark.parametrize(
    ("groups", "becomes"),
    [
        (["oncall"], Role.OPERATOR),
        (["oncall", "leads"], Role.ADMIN),
        ("leads", Role.ADMIN),
        (["all"], Role.VIEWER),
    ],
)
def test_the_role_is_that_of_the_groups(trip, groups, becomes):
    ada = known()
    known("root", "", Role.ADMIN)
    trip.provider.person["groups"] = groups
    trip(groups={**GROUPS, Role.VIEWER: frozenset({"all"})})
    assert role(ada) is becomes


def test_a_role_goes_with_its_group_and_both_ways_are_audited(client, trip):
    ada = known()
    trip.provider.person["groups"] = ["oncall"]
    trip(groups=GROUPS)
    assert role(ada) is Role.OPERATOR
    trip.provider.person["groups"] = ["others"]
    answer = trip(groups=GROUPS)
    assert "Your groups may not sign in" in said(answer)
    assert role(ada) is Role.VIEWER
    changes = [(row.before["role"], row.after["role"]) for row in trail("person.changed")]
    assert changes == [("viewer", "operator"), ("operator", "viewer")]
    assert trail("person.changed")[0].reason == "groups of Okta"
    assert {row.address for row in trail("person.changed")} == {"127.0.0.1"}


@pytest.mark.parametrize("groups", [[], None, ["*"], [7], {"leads": True}, "LEADS", "\ud800"])
def test_who_is_in_no_group_does_not_come_in(client, trip, groups):
    known()
    trip.provider.person["groups"] = groups
    assert trip(groups=GROUPS).status_code == 403
    assert arrived(client) is None


def test_who_is_in_no_group_does_not_learn_which_addresses_are_known_here(client, trip):
    known()
    trip.provider.person |= {"email_verified": False, "groups": []}
    answer = said(trip(groups=GROUPS))
    assert "Your groups may not sign in" in answer and "verified" not in answer


def test_the_last_administrator_stays_one(client, trip):
    ada = known(role=Role.ADMIN)
    trip(groups={Role.VIEWER: frozenset("*")})
    assert role(ada) is Role.ADMIN and arrived(client) == ada
    (kept,) = trail("person.kept")
    assert kept.reason == "groups of Okta: the last administrator"
    assert kept.address == "127.0.0.1"


def test_without_groups_in_the_settings_a_role_is_lastgoods_to_give(trip):
    ada = known(role=Role.OPERATOR)
    trip.provider.person["groups"] = ["leads"]
    trip()
    assert role(ada) is Role.OPERATOR and trail("person.changed") == []


def test_groups_are_found_by_a_path_and_in_the_userinfo(trip):
    ada = known()
    trip.provider.userinfo = {"realm_access": {"roles": ["oncall"]}}
    trip(groups=GROUPS, groups_claim="realm_access.roles")
    assert role(ada) is Role.OPERATOR


def test_the_userinfo_of_somebody_else_counts_nothing(client, trip):
    known(role=Role.VIEWER)
    trip.provider.userinfo = {"sub": "2", "groups": ["leads"]}
    assert "does not fit" in said(trip(groups=GROUPS))
    assert arrived(client) is None


@pytest.mark.parametrize("linked", [True, False])
def test_who_is_shut_out_stays_out(client, trip, linked):
    ada = known(is_active=False)
    if linked:
        Identity.objects.create(user=ada, issuer=trip.provider.url, subject="1")
    answer = trip(creates=True, groups={Role.VIEWER: frozenset("*")})
    assert (answer.status_code, "You are shut out" in said(answer)) == (403, True)
    assert arrived(client) is None and User.objects.count() == 1


def test_another_identity_with_the_address_is_not_taken_for_the_person(client, trip):
    known()
    trip()
    client.logout()
    trip.provider.person["sub"] = "2"
    answer = trip(creates=True, groups={Role.VIEWER: frozenset("*")})
    assert "Your mail address belongs to another account" in said(answer)
    assert arrived(client) is None


def test_an_address_of_several_people_finds_none_of_them(client, trip):
    known()
    known("ada2")
    assert "You could be one of several people" in said(trip())


def test_groups_of_django_are_left_alone(trip):
    ada = known()
    ada.groups.add(Group.objects.create(name="others"))
    trip.provider.person["groups"] = ["oncall"]
    trip(groups=GROUPS)
    assert set(ada.groups.values_list("name", flat=True)) == {"others", "operators"}


def test_the_session_is_one_that_ends_like_any_other(client, trip):
    known()
    trip()
    assert {"began_s", "seen_s"} <= set(client.session.keys())
    assert "by_link_s" not in client.session
    assert client.session.get_expiry_age() > 1_000_000


def test_whoever_knows_the_session_of_before_is_not_signed_in(client, trip):
    known()
    address = trip.begin()
    before = client.session.session_key
    trip.finish(address)
    assert arrived(client) and client.session.session_key != before
    assert not Session.objects.filter(pk=before).exists()


def test_administrators_alone_may_keep_their_passwords(client, trip, settings):
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    settings.OIDC = replace(settings.OIDC, passwords_for_all=False)
    known(password="right")
    known("root", "", Role.ADMIN, password="right")
    answer = client.post("/login/", {"username": "ada", "password": "right"})
    assert (answer.status_code, "passwords are for administrators" in said(answer)) == (403, True)
    assert arrived(client) is None
    wrong = client.post("/login/", {"username": "ada", "password": "wrong"})
    assert "do not match" in said(wrong)
    assert client.post("/login/", {"username": "root", "password": "right"}).status_code == 302


def test_an_administrator_unlinks_an_account_that_was_made_anew(client, trip):
    ada = known()
    trip()
    root = type(client)()
    root.force_login(known("root", "", Role.ADMIN))
    page = said(root.get(f"/settings/members/{ada.pk}/"))
    assert "Unlink from Okta" in page and "<dd>Okta" in page
    answer = root.post(f"/settings/members/{ada.pk}/unlink/", {"reason": "new laptop, new account"})
    assert answer["Location"] == f"/settings/members/{ada.pk}/"
    (line,) = trail("identity.unlinked")
    assert (line.actor, line.object) == ("user:root", "user ada")
    assert line.reason == "new laptop, new account"
    client.logout()
    trip.provider.person["sub"] = "2"
    trip()
    assert arrived(client) == ada


def test_the_page_of_the_password_says_who_may_use_one(client, trip):
    known()
    trip(passwords_for_all=False)
    assert "You sign in with Okta" in said(client.get("/settings/password/"))
    trip(passwords_for_all=True)
    assert "You sign in with Okta" not in said(client.get("/settings/password/"))
