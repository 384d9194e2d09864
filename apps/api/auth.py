"""Who calls: an API token or a logged-in session, and whether it may do this."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import cast

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from ninja.errors import HttpError
from ninja.security import APIKeyCookie, HttpBearer
from ninja.security.base import AuthBase

from apps.accounts.records import Actor
from apps.accounts.services import actor_of, require_any, verify_token
from apps.core.http import client_address, json_error

View = Callable[..., HttpResponse]


class Token(HttpBearer):
    """`Authorization: Bearer lg_...` with one of the scopes this operation needs."""

    def __init__(self, *scopes: str) -> None:
        self.scopes = scopes
        super().__init__()

    def authenticate(self, request: HttpRequest, token: str) -> Actor:
        actor = verify_token(token)
        if actor is None:
            raise HttpError(401, "this token is unknown or revoked")
        return require_any(actor.at(client_address(request)), self.scopes)


class Session(APIKeyCookie):
    """The cookie of a logged-in person; unsafe methods also need the CSRF header."""

    param_name = "lastgood_session"

    def __init__(self, *scopes: str) -> None:
        self.scopes = scopes
        super().__init__(csrf=True)

    def _get_key(self, request: HttpRequest) -> str | None:
        # The CSRF check may read the body: not for strangers.
        return super()._get_key(request) if request.user.is_authenticated else None

    def authenticate(self, request: HttpRequest, key: str | None) -> Actor | None:
        actor = actor_of(request.user)
        if actor is None:
            return None
        return require_any(actor.at(client_address(request)), self.scopes)


def needs(*scopes: str) -> list[AuthBase | Callable[..., object]]:
    """The ways to prove one of the scopes."""
    return [Token(*scopes), Session(*scopes)]


def signed_in(view: View) -> View:
    """A page of the documentation: for people with a session, and for tokens that may read."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        if request.user.is_authenticated:
            return view(request, *args, **kwargs)
        if "Authorization" not in request.headers:
            return redirect_to_login(request.get_full_path())
        actor = verify_token(request.headers["Authorization"].removeprefix("Bearer ").strip())
        if actor is None or not actor.may("read"):
            return json_error(401, "this token is unknown or may not read", where=request.path)
        return view(request, *args, **kwargs)

    return guarded


def caller(request: HttpRequest) -> Actor:
    """The actor that passed the check of this operation."""
    return cast(Actor, getattr(request, "auth"))  # noqa: B009 - set by ninja
