"""GET /login/SECRET and `manage.py login_link`"""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command

from apps.accounts import services, store
from apps.accounts.models import LoginLink


@pytest.fixture
def link(db, capsys):
    """A fresh link as the command prints it, without the address of the site."""
    call_command("login_link")
    address = capsys.readouterr().out.strip()
    assert address.startswith("http://127.0.0.1:8000/login/")
    return address.removeprefix("http://127.0.0.1:8000")


def test_it_logs_the_administrator_in(client, link):
    answer = client.get(link)
    assert (answer.status_code, answer["Location"]) == (302, "/")
    assert client.session["_auth_user_id"] == str(User.objects.get(is_superuser=True).pk)


def test_the_second_time_it_says_what_to_do(client, link):
    client.get(link)
    client.logout()
    answer = client.get(link)
    assert answer.status_code == 410
    assert "manage.py login_link" in answer.content.decode()
    assert "_auth_user_id" not in client.session


@pytest.mark.parametrize(
    ("method", "headers"),
    [("head", {}), ("get", {"Sec-Purpose": "prefetch;prerender"}), ("post", {})],
)
def test_a_look_ahead_does_not_use_it_up(client, link, method, headers):
    answer = getattr(client, method)(link, headers=headers)
    assert (answer.status_code, answer.content) == (204, b"")
    assert client.get(link).status_code == 302


def test_an_expired_one_does_not_work(client, link):
    LoginLink.objects.update(expires_at="2020-01-01T00:00:00Z")
    assert client.get(link).status_code == 410


def test_a_wrong_one_does_not_work(client, link):
    assert client.get(link[:-1] + "!").status_code == 410


def test_one_for_somebody_who_was_shut_out_does_not_work(client, link):
    User.objects.update(is_active=False)
    assert client.get(link).status_code == 410


def test_it_lives_for_twelve_hours_and_only_its_hash_is_kept(link):
    (kept,) = LoginLink.objects.all()
    made_at = kept.expires_at - timedelta(hours=12)
    assert abs((made_at - kept.user.date_joined).total_seconds()) < 60
    assert kept.digest == store.digest(link.removeprefix("/login/"))


def test_links_are_for_the_administrator_there_is(db):
    ada = User.objects.create_superuser("ada")
    services.login_link_secret()
    assert [made.user for made in LoginLink.objects.all()] == [ada]
    assert User.objects.count() == 1
