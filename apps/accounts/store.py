"""Every statement against the tables of accounts."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Container, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db.models import Q, QuerySet

from apps.accounts.models import ApiToken, AuditEntry, LoginLink
from apps.accounts.records import ACTOR_KINDS, Actor, AuditQuery, AuditRow, TokenInfo
from apps.core.times import ns_of

USE_NOTED = timedelta(minutes=5)
"""How old the noted use of a token gets before it is written again."""


def digest(secret: str) -> str:
    """What is kept of a secret. Plain SHA-256: the secrets have 192 random bits and more."""
    return hashlib.sha256(secret.encode()).hexdigest()


def add_token(
    name: str, secret: str, scopes: list[str], made_by: str, expires_at: datetime | None
) -> int:
    """A new token's id."""
    row = ApiToken(name=name, digest=digest(secret), scopes=scopes)
    row.made_by, row.expires_at = made_by, expires_at
    row.save()
    return row.pk


def token_actor(secret: str, now: datetime) -> Actor | None:
    """Who this secret is, or None if unknown, revoked or past its end. Notes that it is used."""
    row = _working(now).filter(digest=digest(secret)).first()
    if row is None:
        return None
    if row.used_at is None or row.used_at < now - USE_NOTED:
        ApiToken.objects.filter(pk=row.pk).update(used_at=now)
    return Actor(
        "token",
        row.name,
        frozenset(row.scopes),
        token_id=row.pk,
        bytes_s=row.bytes_s,
        requests_s=row.requests_s,
    )


def _working(now: datetime) -> QuerySet[ApiToken]:
    lasting = Q(expires_at=None) | Q(expires_at__gt=now)
    return ApiToken.objects.filter(lasting, revoked_at=None)


def tokens(now: datetime, limit: int = 1_000) -> list[TokenInfo]:
    """Newest first. -- uses the primary key"""
    return _token_infos(ApiToken.objects.order_by("-pk")[:limit], now)


def tokens_made_by(name: str, now: datetime, limit: int = 1_000) -> list[TokenInfo]:
    """Working tokens that a person made, newest first. Reads the table, which is small."""
    made = _working(now).filter(made_by=f"user:{name}")
    return _token_infos(made.order_by("-pk")[:limit], now)


def _token_infos(rows: QuerySet[ApiToken], now: datetime) -> list[TokenInfo]:
    out = User.objects.filter(is_active=False).values_list("username", flat=True)
    makers_out = {f"user:{name}" for name in out}
    return [_token_info(row, now, makers_out) for row in rows]


def _token_info(row: ApiToken, now: datetime, makers_out: Container[str]) -> TokenInfo:
    return TokenInfo(
        id=row.pk,
        name=row.name,
        scopes=tuple(row.scopes),
        made_ns=ns_of(row.created_at),
        made_by=row.made_by,
        used_ns=ns_of(row.used_at),
        ends_ns=ns_of(row.expires_at),
        revoked_ns=ns_of(row.revoked_at),
        works=row.revoked_at is None and (row.expires_at is None or row.expires_at > now),
        maker_out=row.made_by in makers_out,
    )


def working_tokens(now: datetime) -> int:
    """How many tokens work."""
    return _working(now).count()


def limit_tokens(token_ids: Sequence[int], bytes_s: int | None, requests_s: int | None) -> None:
    """How much tokens may send in a second; None: what the settings say."""
    ApiToken.objects.filter(pk__in=token_ids).update(bytes_s=bytes_s, requests_s=requests_s)


def token_ids(name: str) -> list[int]:
    """Tokens of that name that still work."""
    rows = ApiToken.objects.filter(name=name, revoked_at=None)
    return list(rows.order_by("pk").values_list("pk", flat=True))


def revoke_token(token_id: int, at: datetime) -> bool:
    """Whether the token worked until now."""
    return ApiToken.objects.filter(pk=token_id, revoked_at=None).update(revoked_at=at) == 1


def add_login_link(user: User, secret: str, expires_at: datetime) -> None:
    """A login link for `user`."""
    LoginLink.objects.create(user=user, digest=digest(secret), expires_at=expires_at)


def use_login_link(secret: str, now: datetime) -> User | None:
    """The active user of an unused link, which is used up by this call; else None."""
    unused = LoginLink.objects.filter(digest=digest(secret), used_at=None, expires_at__gt=now)
    link = unused.select_for_update(of=("self",)).select_related("user").first()
    if link is None or not link.user.is_active:
        return None
    link.used_at = now
    link.save(update_fields=["used_at"])
    return link.user


def drop_login_links(before: datetime) -> int:
    """Drops links that ended before a time; how many."""
    return LoginLink.objects.filter(expires_at__lt=before).delete()[0]


def drop_sessions(before: datetime, limit: int = 5_000) -> int:
    """Drops the oldest `limit` sessions that ended before a time; how many. -- its expiry index"""
    old = Session.objects.filter(expire_date__lt=before).order_by("expire_date")
    keys = list(old.values_list("session_key", flat=True)[:limit])
    return Session.objects.filter(session_key__in=keys, expire_date__lt=before).delete()[0]


def owner() -> User:
    """The first administrator, made without a password when there is none."""
    found = User.objects.filter(is_superuser=True, is_active=True).order_by("pk").first()
    return found or User.objects.create_superuser("admin", email="", password=None)


def mail_addresses() -> list[str]:
    """Addresses of all active people who have one."""
    people = User.objects.filter(is_active=True).exclude(email="")
    return list(people.order_by("pk").values_list("email", flat=True))


def admin_addresses() -> list[str]:
    """Addresses of the active administrators who have one."""
    people = User.objects.filter(is_active=True, is_superuser=True).exclude(email="")
    return list(people.order_by("pk").values_list("email", flat=True))


def is_user(name: str) -> bool:
    """Whether somebody of this name may log in."""
    return User.objects.filter(username=name, is_active=True).exists()


def shut_out(names: Collection[str]) -> frozenset[str]:
    """Those of these names whose people may not sign in any more. -- uses the index of names"""
    out = User.objects.filter(is_active=False, username__in=names)
    return frozenset(out.values_list("username", flat=True))


def usernames(limit: int = 200) -> list[str]:
    """The names of people who may log in, by name."""
    people = User.objects.filter(is_active=True).order_by("username")
    return list(people.values_list("username", flat=True)[:limit])


def add_audit(row: dict[str, Any]) -> None:
    """One audit line, in the caller's transaction."""
    AuditEntry.objects.create(**row)


def audit_rows(
    limit: int, before_id: int | None = None, asked: AuditQuery | None = None
) -> list[AuditRow]:
    """Newest first. -- uses ix_audit_newest, ix_audit_actor, ix_audit_object (three letters and
    more, where Postgres has pg_trgm) or, of a run, the primary key"""
    rows = AuditEntry.objects.filter(_asked(asked or AuditQuery())).order_by("-id")
    if before_id is not None:
        rows = rows.filter(id__lt=before_id)
    return [audit_row(row) for row in rows[: min(limit, 500)]]


def _asked(asked: AuditQuery) -> Q:
    kind, name = _kind_and_name(asked.actor)
    wanted = {
        "at_ns__gte": asked.from_ns,
        "at_ns__lt": asked.to_ns,
        "actor": name,
        "actor_kind": kind,
        "action__startswith": asked.action,
        "object__icontains": asked.object,
        "run_id": asked.run_id,
    }
    return Q(**{field: value for field, value in wanted.items() if value not in (None, "")})


def _kind_and_name(text: str) -> tuple[str, str]:
    """(kind or "", name). A name may hold colons itself: a stranger is called by an address."""
    kind, colon, name = text.partition(":")
    return (kind, name) if colon and kind in ACTOR_KINDS else ("", text)


def audit_row(row: AuditEntry) -> AuditRow:
    """An entry as a value."""
    return AuditRow(
        id=row.id,
        at_ns=row.at_ns,
        actor=f"{row.actor_kind}:{row.actor}",
        action=row.action,
        object=row.object,
        before=row.before,
        after=row.after,
        reason=row.reason,
        run_id=row.run_id,
        request_id=row.request_id,
        address=row.address,
    )
