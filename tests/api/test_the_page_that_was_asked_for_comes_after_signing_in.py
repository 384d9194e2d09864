"""From the link of a mail to its page: by password, or by a one-time link opened after it."""

import pytest
from django.contrib.auth.models import User

from apps.accounts.services import login_link_secret

PASSWORD = "a long enough password"
ASKED = "/incidents/7/?from=mail"


@pytest.fixture
def ada(db, valkey):
    return User.objects.create_superuser("ada")


def follow(client, path=ASKED):
    """A stranger opens a page and is shown the sign-in page."""
    sent_to = client.get(path)["Location"]
    return client.get(sent_to), sent_to


def test_by_password(client, ada, settings):
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    ada.set_password(PASSWORD)
    ada.save()
    page, sent_to = follow(client)
    assert 'name="next" value="/incidents/7/?from=mail"' in page.content.decode()
    form = {"username": "ada", "password": PASSWORD, "next": ASKED}
    assert client.post(sent_to, form)["Location"] == ASKED


def test_by_a_link_that_is_opened_after_it_and_only_once(client, ada):
    follow(client)
    assert client.get(f"/login/{login_link_secret()}")["Location"] == ASKED
    client.logout()
    assert client.get(f"/login/{login_link_secret()}")["Location"] == "/"


def test_a_name_in_any_script(client, ada):
    follow(client, "/runs/läuft→/")
    there = client.get(f"/login/{login_link_secret()}")["Location"]
    assert there == "/runs/l%C3%A4uft%E2%86%92/"


def test_what_was_asked_for_is_kept_from_scripts_and_other_pages(client, ada):
    page, _ = follow(client)
    kept = page.cookies["lastgood_asked"]
    assert (kept["httponly"], kept["samesite"], kept["path"]) == (True, "Lax", "/login/")
    assert kept["max-age"] == 3600


@pytest.mark.parametrize(
    "place", ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)"]
)
def test_no_link_leads_to_another_site(client, ada, place):
    assert "lastgood_asked" not in client.get("/login/", {"next": place}).cookies
    client.cookies["lastgood_asked"] = place
    assert client.get(f"/login/{login_link_secret()}")["Location"] == "/"


def test_a_used_link_leads_nowhere(client, ada):
    follow(client)
    secret = login_link_secret()
    client.get(f"/login/{secret}")
    client.logout()
    assert client.get(f"/login/{secret}").status_code == 410
