"""Going to a provider and back with Django's test client."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from django.contrib.auth.models import User

from apps.accounts.domain.arrival import Provider
from tests.oidc_provider import CLIENT, SECRET, OidcProvider, providing

ADA = {
    "sub": "1",
    "email": "ada@example.org",
    "email_verified": True,
    "preferred_username": "ada",
}
APPS = ["allauth.account", "allauth.socialaccount"]


class Trip:
    """provider: the other end, for a test to change."""

    def __init__(self, client: Any, settings: Any, provider: OidcProvider) -> None:
        self.client, self.settings, self.provider = client, settings, provider

    def begin(self, wanted: str = "") -> str:
        """Where the page of the button leads."""
        page = self.client.post("/login/oidc/", {"next": wanted})
        return address_of(page)

    def finish(self, address: str) -> Any:
        """The answer to a browser that the provider sends back."""
        there = urlsplit(self.provider.walk(address))
        return self.client.get(f"{there.path}?{there.query}")

    def __call__(self, wanted: str = "", **changed: Any) -> Any:
        self.settings.OIDC = replace(self.settings.OIDC, **changed)
        return self.finish(self.begin(wanted))


@contextmanager
def set_up(client: Any, settings: Any) -> Iterator[Trip]:
    """A provider that runs, lets Ada through, and is set up here as "Okta"."""
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, "allauth.account.middleware.AccountMiddleware"]
    settings.INSTALLED_APPS = [*settings.INSTALLED_APPS, *APPS]
    with providing() as provider:
        provider.person = dict(ADA)
        settings.OIDC = Provider(provider.url, CLIENT, SECRET, name="Okta")
        yield Trip(client, settings, provider)


def address_of(page: Any) -> str:
    """Where a page goes on to by itself."""
    found = re.search(r'http-equiv="refresh" content="0; url=([^"]+)"', page.content.decode())
    assert found, page.content.decode()
    return html.unescape(found[1])


def arrived(client: Any) -> User | None:
    """Who is signed in."""
    number = client.session.get("_auth_user_id")
    return User.objects.get(pk=number) if number else None


def said(answer: Any) -> str:
    """The text of a page."""
    return html.unescape(answer.content.decode())
