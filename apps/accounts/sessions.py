"""What a session remembers of its own age. The rules are in `domain/session.py`."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.sessions.backends import db
from django.contrib.sessions.backends.base import SessionBase
from django.http import HttpRequest

from apps.accounts.domain.session import Life, SessionPolicy, judge

BEGAN, SEEN, BY_LINK = "began_s", "seen_s", "by_link_s"
FRESH_S = 3_600
"""How long after a sign-in by link a person may set a password without the one before."""


class SessionStore(db.SessionStore):
    """In the database, which knows no NUL: a key with one is nobody's. Not to be renamed: what is
    kept is signed with the name."""

    def __init__(self, session_key: str | None = None) -> None:
        super().__init__(None if session_key and "\0" in session_key else session_key)


def begin(session: SessionBase, now_s: int, *, by_link: bool) -> None:
    """Somebody has just signed in."""
    session.set_expiry(None)  # that of a stranger may have been short
    session[BEGAN] = session[SEEN] = now_s
    if by_link:
        session[BY_LINK] = now_s


def life(session: SessionBase, now_s: int) -> Life:
    """Whether the session goes on; changes nothing."""
    policy = SessionPolicy(settings.SESSION_COOKIE_AGE, settings.SESSION_IDLE_S)
    return judge(session.get(BEGAN), session.get(SEEN), now_s, policy)


def person_of(key: str, now_s: int) -> int | None:
    """The id of the person whose session has this key; None if it is nobody's or has ended."""
    asking = HttpRequest()
    asking.session = SessionStore(key or None)
    user = get_user(asking)
    ended = life(asking.session, now_s) is Life.ENDED
    return None if ended or not user.is_authenticated else user.pk


def note_use(session: SessionBase, now_s: int) -> None:
    """The session is in use."""
    session[SEEN] = now_s


def is_fresh_by_link(session: SessionBase, now_s: int) -> bool:
    """Whether a one-time link signed in here a short while ago."""
    at_s = session.get(BY_LINK)
    return at_s is not None and now_s - at_s < FRESH_S
