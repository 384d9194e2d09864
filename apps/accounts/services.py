"""Who may do what, tokens, login links, audit."""

from __future__ import annotations

import secrets
import string
import time
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.db import transaction
from django.utils import timezone

from apps.accounts import people_store, store
from apps.accounts.records import ROLE_SCOPES, SCOPES, SYSTEM, Actor, Role
from apps.core.clock import now_ns
from apps.core.errors import AppError

LINK_LIFE = timedelta(hours=12)
LINK_KEPT = timedelta(days=7)
"""How long a link that has ended is told from one that never was."""
MOST_DAYS = 3_650
"""How long a token lasts that has an end."""
TOKEN_CACHE_S = 10.0
"""How long a verified token is trusted without asking Postgres: revocation takes this long."""

_verified: dict[str, tuple[float, Actor]] = {}


class Forbidden(AppError):
    """The actor lacks a scope."""


def make_token(
    name: str,
    scopes: list[str],
    *,
    actor: Actor = SYSTEM,
    wandb: bool = False,
    lasts: timedelta | None = None,
) -> str:
    """A new API token; shown once, only its hash is kept. AppError for a bad name or scope.

    wandb: in a form that `wandb` accepts. lasts: when it ends; None: when it is revoked.
    """
    if not 0 < len(name) <= 200:
        raise AppError("a token needs a name of 1-200 characters", hint="say who will use it")
    wrong = sorted(set(scopes) - set(SCOPES))
    if wrong or not scopes:
        raise AppError(
            f"unknown scope {', '.join(wrong) or '(none)'}", hint=f"use {', '.join(SCOPES)}"
        )
    secret = _wandb_secret() if wandb else f"lg_{secrets.token_urlsafe(32)}"
    with transaction.atomic():
        ends_at = None if lasts is None else timezone.now() + lasts
        token_id = store.add_token(name, secret, scopes, f"{actor.kind}:{actor.name}", ends_at)
        after: dict[str, Any] = {"name": name, "scopes": scopes}
        if ends_at is not None:
            after["ends"] = ends_at.isoformat(timespec="minutes")
        audit(actor, "token.created", f"token {token_id}", after=after)
    return secret


def _wandb_secret() -> str:
    """238 random bits. The client takes 40 letters and digits behind "local-"."""
    letters = string.ascii_letters + string.digits
    return "local-" + "".join(secrets.choice(letters) for _ in range(40))


def verify_token(secret: str) -> Actor | None:
    """The actor behind a token, or None. Remembered for TOKEN_CACHE_S seconds a process."""
    key = store.digest(secret)
    hit = _verified.get(key)
    if hit and hit[0] > time.monotonic():
        return hit[1]
    actor = store.token_actor(secret, timezone.now())
    if actor is None:
        _verified.pop(key, None)
        return None
    if len(_verified) > 10_000:
        _verified.clear()
    _verified[key] = (time.monotonic() + TOKEN_CACHE_S, actor)
    return actor


def revoke_token(token_id: int, *, actor: Actor, reason: str = "") -> bool:
    """Ends a token, everywhere within TOKEN_CACHE_S; False if it had ended or never was."""
    with transaction.atomic():
        ended = store.revoke_token(token_id, timezone.now())
        if ended:
            audit(actor, "token.revoked", f"token {token_id}", reason=reason)
    return ended


def revoke_tokens(name: str, *, actor: Actor) -> int:
    """Ends every token of that name; how many worked until now."""
    return sum(revoke_token(token_id, actor=actor) for token_id in store.token_ids(name))


def limit_tokens(name: str, bytes_s: int | None, requests_s: int | None, *, actor: Actor) -> int:
    """Bounds what the working tokens of a name may send in a second, everywhere within
    TOKEN_CACHE_S; how many there are. None: what the settings say."""
    token_ids = store.token_ids(name)
    with transaction.atomic():
        store.limit_tokens(token_ids, bytes_s, requests_s)
        for token_id in token_ids:
            limits = {"bytes_s": bytes_s, "requests_s": requests_s}
            audit(actor, "token.limited", f"token {token_id}", after=limits)
    return len(token_ids)


def actor_of(user: User | AnonymousUser) -> Actor | None:
    """A logged-in person as an actor: everybody reads, operators operate, admins do all."""
    if not isinstance(user, User) or not user.is_active:
        return None
    scopes = ROLE_SCOPES[people_store.role_of(user)]
    return Actor("user", user.get_username(), scopes, user_id=user.pk)


def require(actor: Actor | None, scope: str) -> Actor:
    """The actor, if it has `scope`; Forbidden says which role is missing."""
    return require_any(actor, (scope,))


def require_any(actor: Actor | None, scopes: Sequence[str]) -> Actor:
    """The actor, if it has one of `scopes`; Forbidden says which."""
    if actor is None or not any(actor.may(scope) for scope in scopes):
        wanted = " or ".join(f'"{scope}"' for scope in scopes)
        raise Forbidden(
            f"this needs the scope {wanted}", hint="ask an administrator for a token or role"
        )
    return actor


def login_link_secret() -> str:
    """The secret of a fresh one-time login link for the first administrator."""
    with transaction.atomic():
        people_store.one_at_a_time()
        return link_for(store.owner(), actor=SYSTEM)


def link_for(user: User, *, actor: Actor) -> str:
    """The secret of a fresh one-time login link of a person, in the caller's transaction."""
    secret = secrets.token_urlsafe(24)
    store.add_login_link(user, secret, timezone.now() + LINK_LIFE)
    audit(actor, "login_link.created", f"user {user.get_username()}")
    return secret


def use_login_link(secret: str, address: str = "") -> User | None:
    """The person an unused link is for; it is used up by this call. None: used, expired or wrong.

    Two calls at once: one of them gets the person.
    """
    with transaction.atomic():
        user = store.use_login_link(secret, timezone.now())
        if user is not None:
            _note(user, "login.by_link", address)
    return user


def may_use_password(user: User) -> bool:
    """Whether somebody may sign in with a password: while a provider is for everybody else,
    administrators still may."""
    if settings.OIDC is None or settings.OIDC.passwords_for_all:
        return True
    return people_store.role_of(user) is Role.ADMIN


def note_login(user: User, address: str, by: str = "password") -> None:
    """Somebody has signed in with a password, or through the provider."""
    _note(user, f"login.by_{by}", address)


def note_password(user: User, address: str) -> None:
    """Somebody has set a password of their own; in the transaction that sets it."""
    _note(user, "password.set", address)


def _note(user: User, action: str, address: str) -> None:
    person = actor_of(user) or SYSTEM
    audit(person.at(address), action, f"user {user.get_username()}")


def note_refused_login(
    address: str, reason: str, by: str = "a name and a password", **after: str
) -> None:
    """A try to sign in failed. What was typed is not kept: people type passwords where their name
    belongs."""
    stranger = Actor("stranger", address, frozenset()).at(address)
    audit(stranger, "login.refused", by, after=after, reason=reason)


def drop_expired(now: datetime) -> dict[str, int]:
    """Drops sessions that have ended and links that ended LINK_KEPT ago; how many of each."""
    sessions = 0
    while dropped := store.drop_sessions(now):
        sessions += dropped
    return {"sessions": sessions, "login links": store.drop_login_links(now - LINK_KEPT)}


def audit(
    actor: Actor,
    action: str,
    obj: str,
    *,
    run_id: int = 0,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
    reason: str = "",
    request_id: str = "",
) -> None:
    """Writes who did what to which object and why, in the caller's transaction."""
    store.add_audit(
        {
            "run_id": run_id,
            "at_ns": now_ns(),
            "actor_kind": actor.kind,
            "actor": actor.name,
            "action": action,
            "object": obj[:300],
            "before": dict(before or {}),
            "after": dict(after or {}),
            "reason": reason,
            "request_id": request_id,
            "address": actor.address,
        }
    )
