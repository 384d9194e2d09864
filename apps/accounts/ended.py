"""Sign-ins that have ended, told through Valkey to whoever does not ask Postgres at every turn:
open event streams, and the run list that is kept for when Postgres is away.

Without Valkey nobody is told: a stream asks again by itself, and no list is shown either.
"""

from __future__ import annotations

import hashlib
import logging

import redis
from django.conf import settings
from django.contrib.auth import logout
from django.http import HttpRequest

from apps.core import live, valkey
from apps.core.clock import now_ns

KEPT_S = 3_600
"""How long an end is remembered. Who trusts an earlier look trusts it for less."""
_PERSON, _SESSION = "ended:person:", "ended:session:"
log = logging.getLogger(__name__)


def session_name(key: str) -> str:
    """Names a session where its key must not lie."""
    return hashlib.sha256(key.encode()).hexdigest()


def sign_out(request: HttpRequest) -> None:
    """Ends the session of a request, everywhere. Its key never works again."""
    person, key = request.user.pk, request.COOKIES.get(settings.SESSION_COOKIE_NAME, "")
    logout(request)
    _tell(person, _SESSION + session_name(key))


def all_of(person_id: int) -> None:
    """The sessions that a person has now have ended: they were shut out, or have another password.
    Called once that is committed."""
    _tell(person_id, f"{_PERSON}{person_id}")


def has_ended(person_id: int, session: str, seen_ns: int) -> bool:
    """Whether the session of that name, last seen to be good at seen_ns, has ended since. Raises
    redis.RedisError."""
    store = valkey.client()
    if store.exists(_SESSION + session):
        return True
    ended_ns = store.get(f"{_PERSON}{person_id}")
    return int(ended_ns or 0) >= seen_ns


def _tell(person_id: int | None, mark: str) -> None:
    if person_id is None:
        return
    try:
        valkey.client().set(mark, now_ns(), ex=KEPT_S)
    except redis.RedisError:
        log.warning("accounts.end_not_told")
    live.publish_ended(person_id)
