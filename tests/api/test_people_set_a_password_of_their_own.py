"""/settings/password/: a first one after a one-time link, another one with the one until now."""

import pytest
from django.contrib.auth.models import User

from apps.accounts import services, store

PAGE = "/settings/password/"
OLD, NEW = "the one until now", "correct horse battery"


@pytest.fixture
def grace(db, valkey, settings):
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    return User.objects.create_user("gracehopper")


def by_link(browser, user):
    browser.get(f"/login/{services.link_for(user, actor=services.SYSTEM)}")
    return browser


def by_password(browser, user):
    user.set_password(OLD)
    user.save()
    browser.post("/login/", {"username": user.username, "password": OLD})
    return browser


def send(browser, new=NEW, again=None, old=None):
    form = {"new_password1": new, "new_password2": again or new}
    return browser.post(PAGE, form if old is None else {**form, "old_password": old})


def opens(user, password):
    return User.objects.get(pk=user.pk).check_password(password)


def test_who_came_by_a_link_sets_a_first_one(client, grace):
    by_link(client, grace)
    assert "The one until now" not in client.get(PAGE).content.decode()
    assert send(client).status_code == 302
    assert opens(grace, NEW)
    row = store.audit_rows(1)[0]
    assert (row.actor, row.action) == ("user:gracehopper", "password.set")
    assert NEW not in str(row)


def test_a_link_also_helps_who_has_forgotten_it_for_an_hour(client, grace):
    grace.set_password(OLD)
    grace.save()
    by_link(client, grace)
    session = client.session
    session["by_link_s"] -= 3_600
    session.save()
    assert (send(client).status_code, opens(grace, OLD)) == (400, True)
    session["by_link_s"] += 3_599
    session.save()
    assert (send(client).status_code, opens(grace, NEW)) == (302, True)


def test_else_the_one_until_now_is_asked_for(client, grace):
    by_password(client, grace)
    assert "The one until now" in client.get(PAGE).content.decode()
    assert (send(client, old="wrong").status_code, opens(grace, OLD)) == (400, True)
    assert (send(client, old=OLD).status_code, opens(grace, NEW)) == (302, True)


def test_guessing_it_is_bounded(client, grace):
    by_password(client, grace)
    assert [send(client, old="wrong").status_code for _ in range(11)] == [400] * 10 + [429]
    assert (send(client, old=OLD).status_code, opens(grace, OLD)) == (429, True)


@pytest.mark.parametrize("weak", ["eleven char", "password1234", "123456789012", "gracehopper1"])
def test_a_weak_one_is_refused_with_the_reason(client, grace, weak):
    page = send(by_link(client, grace), weak)
    assert page.status_code == 400
    assert "The password is as it was" in page.content.decode()
    assert not User.objects.get(pk=grace.pk).has_usable_password()


def test_two_that_differ_are_refused(client, grace):
    assert send(by_link(client, grace), NEW, "another one of these").status_code == 400


def test_other_devices_have_to_sign_in_again(client, grace):
    other = by_password(type(client)(), grace)
    by_link(client, grace)
    send(client)
    assert [one.get("/audit/").status_code for one in (other, client)] == [302, 200]
