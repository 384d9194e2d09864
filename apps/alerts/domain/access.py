"""How a channel is reached: what a person enters, checked, and what a page may show of it."""

from __future__ import annotations

import base64
import binascii
import re
import secrets
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from apps.alerts.domain.routing import ChannelKind
from apps.core.errors import AppError

PAGERDUTY_URL = "https://events.pagerduty.com/v2/enqueue"
SIGNING_PREFIX = "whsec_"
_MAIL = re.compile(r"[^@\s,;:<>\"()\[\]\\]{1,64}@[^@\s,;:<>\"()\[\]\\]{1,190}")
_ROUTING_KEY = re.compile(r"[0-9A-Za-z]{32}")
_TOPIC = re.compile(r"[-_A-Za-z0-9]{1,64}")
_MAX_URL, _MAX_SECRET = 2_000, 500


@dataclass(frozen=True, slots=True)
class Access:
    """url: a mail address for e-mail. secret: signing key, routing key or token; "" where the
    address alone opens the door. Neither appears in a repr."""

    url: str = field(repr=False)
    secret: str = field(default="", repr=False)


def checked(kind: ChannelKind, url: str, secret: str) -> Access:
    """What a person entered, as the transports need it; AppError names the field at fault.

    A webhook without a secret gets one. PagerDuty without an address gets the public one.
    """
    url, secret = url.strip(), secret.strip()
    if kind is ChannelKind.EMAIL:
        return Access(_mail_address(url))
    url = url or (PAGERDUTY_URL if kind is ChannelKind.PAGERDUTY else "")
    _check_url(url)
    _check_secret(kind, secret)
    if kind is ChannelKind.NTFY and not _TOPIC.fullmatch(urlsplit(url).path.strip("/")):
        raise AppError(
            "the address of ntfy ends with one topic",
            where="address",
            hint="such as https://ntfy.example.org/loss-alerts",
        )
    if kind is ChannelKind.WEBHOOK and not secret:
        secret = new_secret()
    return Access(url, secret)


def new_secret() -> str:
    """A key for signed webhooks: 192 random bits, in the form of Standard Webhooks."""
    return SIGNING_PREFIX + base64.b64encode(secrets.token_bytes(24)).decode("ascii")


def signing_key(secret: str) -> bytes:
    """The bytes behind "whsec_…"; AppError if it is no base64 of 24 to 64 bytes."""
    try:
        key = base64.b64decode(secret.removeprefix(SIGNING_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not (secret.startswith(SIGNING_PREFIX) and 24 <= len(key) <= 64):
        raise AppError(
            "a signing secret is whsec_ and the base64 of 24 to 64 bytes",
            where="secret",
            hint="leave it empty to have one made",
        )
    return key


def shown(kind: ChannelKind, access: Access) -> str:
    """What pages and the audit may say: a mail address whole, of others the host and no more,
    because the path of a webhook is its password."""
    if kind is ChannelKind.EMAIL:
        return access.url
    parts = urlsplit(access.url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}/…"


def _mail_address(text: str) -> str:
    if not _MAIL.fullmatch(text):
        raise AppError(
            "this is no mail address", where="address", hint="one address, such as a@example.org"
        )
    return text


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        good = False
    if not good or not url.isprintable() or " " in url or not url.isascii():
        raise AppError(
            "this is no http or https address",
            where="address",
            hint="such as https://chat.example.org/hooks/abc",
        )
    if len(url) > _MAX_URL:
        raise AppError(f"an address has at most {_MAX_URL} characters", where="address")
    if parts.username or parts.password:
        raise AppError(
            "a name and a password do not belong into the address",
            where="address",
            hint="ntfy takes a token as its secret",
        )


def _check_secret(kind: ChannelKind, secret: str) -> None:
    if len(secret) > _MAX_SECRET or not (secret.isascii() and secret.isprintable()):
        raise AppError(f"a secret is ASCII, up to {_MAX_SECRET} characters", where="secret")
    if kind is ChannelKind.WEBHOOK and secret:
        signing_key(secret)
    if kind is ChannelKind.PAGERDUTY and not _ROUTING_KEY.fullmatch(secret):
        raise AppError(
            "the integration key of PagerDuty has 32 letters and digits",
            where="secret",
            hint="service, Integrations, Events API V2, Integration Key",
        )
    if kind is ChannelKind.SLACK and secret:
        raise AppError("a chat webhook has no secret but its address", where="secret")
