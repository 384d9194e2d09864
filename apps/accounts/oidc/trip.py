"""The round trip to the provider. django-allauth walks it: discovery, state, PKCE, code for tokens.

Imported while a provider is set up only: allauth's models need its apps (docs/adr/0009).
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import requests
from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.models import SocialApp
from allauth.socialaccount.providers.base.constants import AuthProcess
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.openid_connect.provider import OpenIDConnectProvider
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.urls import reverse

from apps.accounts.domain.arrival import Provider, joined, lacks
from apps.accounts.domain.loss import Cause, Lost
from apps.accounts.oidc import tokens

_ID = "oidc"
_ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")
_CODE = re.compile(r'(?:^|"error"\s*:\s*")([a-z_]{1,40})(?:$|")')
"""How OAuth says what is wrong: the word alone, or in JSON."""


@dataclass(frozen=True, slots=True)
class Return:
    """Whom the provider has let through (checked claims), and the page that was asked for."""

    claims: Mapping[str, Any]
    wanted: str


class _Adapter(OpenIDConnectOAuth2Adapter):  # type: ignore[misc]  # allauth has no types
    """allauth's, for the provider of our settings: neither its tables nor its addresses count."""

    def __init__(self, request: HttpRequest, provider: _OneProvider) -> None:
        super().__init__(request, _ID)
        self._provider = provider

    def get_provider(self) -> _OneProvider:
        return self._provider

    def get_callback_url(self, request: HttpRequest, app: SocialApp) -> str:
        """As it is registered there, whatever host name this browser used."""
        return f"{settings.PUBLIC_URL}{reverse('oidc_return')}"

    @cached_property
    def openid_config(self) -> dict[str, Any]:
        """What the provider says of itself, if it is the one that was meant."""
        found = _fetched(self._provider.server_url)
        issuer = self._provider.app.settings["server_url"]
        if str(found.get("issuer")).rstrip("/") != issuer:
            raise Lost(Cause.MISFIT, f"discovery is not of the issuer {issuer}")
        scheme = f"{issuer.partition(':')[0]}://"
        for name in (*_ENDPOINTS, *({"userinfo_endpoint"} & found.keys())):
            if not str(found.get(name)).startswith(scheme):
                raise Lost(Cause.MISFIT, f"discovery: {name} does not begin with {scheme}")
        return found


class _OneProvider(OpenIDConnectProvider):  # type: ignore[misc]
    def get_oauth2_adapter(self, request: HttpRequest) -> _Adapter:
        return _Adapter(request, self)


def begin(request: HttpRequest, provider: Provider, wanted: str) -> str:
    """Where the browser goes now. State, nonce and the PKCE verifier stay in its session.

    wanted: a page of this site. Raises Lost.
    """
    nonce = secrets.token_urlsafe(24)
    try:
        answer = _walker(request, provider).redirect(
            request,
            AuthProcess.LOGIN,
            next_url=wanted,
            data={"nonce": nonce},
            auth_params={"nonce": nonce},
        )
    except (requests.RequestException, Lost) as error:
        raise _lost(error, wanted) from error
    return str(answer["Location"])


def finish(request: HttpRequest, provider: Provider) -> Return:
    """Who came back. The state counts once, in the session that it was made for. Raises Lost."""
    walker = _walker(request, provider)
    try:
        state = walker.unstash_redirect_state(request, request.GET.get("state", ""))
    except PermissionDenied:
        raise Lost(Cause.STALE) from None
    wanted = state.get("next", "/")
    try:
        return Return(_claims(request, walker, state, provider), wanted)
    except (requests.RequestException, OAuth2Error, tokens.BadToken, Lost) as error:
        raise _lost(error, wanted) from error


def _lost(error: Exception, wanted: str) -> Lost:
    """What went wrong on the way, without anything that the log must not have."""
    if isinstance(error, Lost):
        return Lost(error.cause, error.detail, wanted)
    if isinstance(error, requests.RequestException):
        return Lost(Cause.AWAY, _where(error), wanted)
    if isinstance(error, tokens.OtherClock):
        return Lost(Cause.OTHER_CLOCK, str(error), wanted)
    if isinstance(error, tokens.BadToken):
        return Lost(Cause.MISFIT, str(error), wanted)
    return Lost(Cause.MISFIT, _code(str(error)), wanted)


def _where(error: requests.RequestException) -> str:
    """What failed, of which address."""
    address = getattr(error.request, "url", None) or ""
    status = f" {error.response.status_code}" if error.response is not None else ""
    return f"{type(error).__name__}{status} {address.partition('?')[0]}".strip()


def _code(text: str) -> str:
    """The word of OAuth in it. The rest of allauth's message is the whole answer of the token
    endpoint, which may hold tokens; what stands in an address, anybody may have written."""
    found = _CODE.search(text)
    return found[1] if found else "no code that OAuth knows"


def _walker(request: HttpRequest, provider: Provider) -> _OneProvider:
    app = SocialApp(
        provider=OpenIDConnectProvider.id,
        provider_id=_ID,
        name=provider.name,
        client_id=provider.client_id,
        secret=provider.client_secret,
        settings={
            "server_url": provider.issuer,
            "scope": list(provider.scopes),
            "oauth_pkce_enabled": True,
        },
    )
    return _OneProvider(request, app=app)


def _claims(
    request: HttpRequest, walker: _OneProvider, state: Mapping[str, Any], provider: Provider
) -> dict[str, Any]:
    """The checked claims of whoever came back."""
    if "code" not in request.GET:
        said = request.GET.get("error", "")
        raise Lost(Cause.REFUSED if said == "access_denied" else Cause.MISFIT, _code(said))
    adapter = walker.get_oauth2_adapter(request)
    answer = _exchanged(request, adapter, walker.app, state["pkce_code_verifier"])
    about = adapter.openid_config
    expected = tokens.Expected(about["issuer"], provider.client_id, state["data"]["nonce"])
    keys = _fetched(about["jwks_uri"])
    claims = tokens.opened(str(answer.get("id_token", "")), keys, expected)
    if not (lacks(claims, provider) and about.get("userinfo_endpoint")):
        return claims
    bearer = {"Authorization": f"Bearer {answer['access_token']}"}
    more = _fetched(about["userinfo_endpoint"], bearer)
    if more.get("sub") != claims["sub"]:
        raise Lost(Cause.MISFIT, "userinfo is about somebody else")
    return joined(claims, more)


def _exchanged(
    request: HttpRequest, adapter: _Adapter, app: SocialApp, verifier: str
) -> dict[str, Any]:
    """The tokens for the code."""
    client = adapter.get_client(request, app)
    try:
        answer = adapter.get_access_token_data(request, app, client, pkce_code_verifier=verifier)
    except (KeyError, TypeError) as error:  # allauth looks at neither content type nor form
        raise Lost(Cause.MISFIT, "the token endpoint did not answer with JSON") from error
    if not isinstance(answer, dict):
        raise Lost(Cause.MISFIT, "the tokens are not a JSON object")
    return answer


def _fetched(address: str, headers: Mapping[str, str] | None = None) -> dict[str, Any]:
    """A JSON object of the provider. Raises RequestException."""
    with get_adapter().get_requests_session() as session:
        answer = session.get(address, headers=headers)
        answer.raise_for_status()
        found = answer.json()
    if not isinstance(found, dict):
        raise Lost(Cause.MISFIT, "not a JSON object")
    return found
