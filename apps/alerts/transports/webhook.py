"""Signed JSON for programs: the headers of Standard Webhooks, so that receivers have libraries."""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import Any

import orjson

from apps.alerts.domain.access import Access, signing_key
from apps.alerts.domain.note import Note, utc
from apps.alerts.domain.outgoing import Call

VERSION = 1
"""Of the body. New fields do not raise it."""


def call(note: Note, access: Access) -> Call:
    """webhook-id is the key for receivers that want to act once: every try of a message has the
    same. webhook-signature is over id, time stamp and body.

    Source: standardwebhooks.com, specification 1.0.
    """
    body = orjson.dumps(payload(note))
    stamp = str(note.now_ns // 1_000_000_000)
    headers = {
        "Content-Type": "application/json",
        "webhook-id": note.delivery_id,
        "webhook-timestamp": stamp,
        "webhook-signature": signature(access.secret, note.delivery_id, stamp, body),
    }
    return Call(access.url, headers, body, (access.url, access.secret))


def signature(secret: str, delivery_id: str, stamp: str, body: bytes) -> str:
    """ "v1," and the base64 of HMAC-SHA256 over "id.timestamp.body"."""
    signed = f"{delivery_id}.{stamp}.".encode() + body
    digest = hmac.new(signing_key(secret), signed, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(digest).decode('ascii')}"


def payload(note: Note) -> dict[str, Any]:
    """The body: type says what happened, data about what. Unknown values are null."""
    return {
        "version": VERSION,
        "type": "test" if note.test else f"incident.{note.kind}",
        "timestamp": utc(note.now_ns),
        "data": {
            "standing": note.standing.value,
            "severity": note.severity.value,
            "incident": note.incident,
            "kind": note.what or None,
            "run": note.run_key or None,
            "attempt": note.attempt,
            "onset_step": note.onset_step,
            "onset_time": utc(note.onset_time_ns) if note.onset_time_ns else None,
            "opened_at": utc(note.opened_at_ns) if note.opened_at_ns else None,
            "acknowledged_by": note.by or None,
            "summary": note.lead,
            "details": list(note.lines),
            "url": note.url,
        },
    }
