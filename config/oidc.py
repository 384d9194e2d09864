"""The provider that people sign in with, from the settings; what does not go together stops the
start."""

from __future__ import annotations

from apps.accounts.domain.arrival import Provider
from apps.accounts.records import Role
from apps.core.errors import AppError
from config import env

_DISCOVERY = "/.well-known/openid-configuration"
_HERE = ("127.0.0.1", "localhost", "::1")


def provider() -> Provider | None:
    """None: nobody has set one up."""
    if not env.text("OIDC_ISSUER"):
        return None
    groups = {
        Role.ADMIN: frozenset(env.items("OIDC_ADMIN_GROUPS")),
        Role.OPERATOR: frozenset(env.items("OIDC_OPERATOR_GROUPS")),
        Role.VIEWER: frozenset(env.items("OIDC_VIEWER_GROUPS")),
    }
    found = Provider(
        issuer=_issuer(),
        client_id=_needed("OIDC_CLIENT_ID"),
        client_secret=_needed("OIDC_CLIENT_SECRET"),
        name=env.text("OIDC_NAME"),
        scopes=tuple(env.text("OIDC_SCOPES").replace(",", " ").split()),
        groups_claim=env.text("OIDC_GROUPS_CLAIM"),
        groups=groups,
        creates=env.boolean("OIDC_CREATE"),
        trusts_mail=env.boolean("OIDC_TRUST_EMAIL"),
        passwords_for_all=env.text("OIDC_PASSWORDS") == "all",
    )
    if "openid" not in found.scopes:
        raise AppError("the scope openid is missing", where="OIDC_SCOPES", hint="begin with it")
    if found.creates and not found.gives_roles:
        hint = "set OIDC_VIEWER_GROUPS too, to * if everybody whom the provider lets through may in"
        raise AppError("this alone would let anybody in", where="OIDC_CREATE", hint=hint)
    return found


def _issuer() -> str:
    """As the provider spells it, without a slash at the end."""
    parts = env.address("OIDC_ISSUER", ("https", "http"))
    if parts is None or (parts.scheme == "http" and parts.hostname not in _HERE):
        raise AppError("tokens would travel in the clear", where="OIDC_ISSUER", hint="use https")
    return parts.geturl().removesuffix(_DISCOVERY).rstrip("/")


def _needed(name: str) -> str:
    value = env.text(name)
    if not value:
        hint = "the provider gives it to each client; without OIDC_ISSUER it is not needed"
        raise AppError("it is not set", where=name, hint=hint)
    return value
