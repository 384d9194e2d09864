"""Pushes to phones through an ntfy server, published as JSON."""

from __future__ import annotations

from urllib.parse import urlsplit, urlunsplit

import orjson

from apps.alerts.domain.access import Access
from apps.alerts.domain.note import Note, Standing
from apps.alerts.domain.outgoing import Call
from apps.core.records import FindingSeverity

TITLE_CHARS, MESSAGE_BYTES = 250, 3_500
"""ntfy turns a message of more than 4,096 bytes into an attached file. Source: docs.ntfy.sh."""
_TAGS = {
    Standing.TRIGGERED: "rotating_light",
    Standing.ACKNOWLEDGED: "eyes",
    Standing.RESOLVED: "white_check_mark",
}
_URGENT, _HIGH, _DEFAULT, _LOW = 5, 4, 3, 2


def call(note: Note, access: Access) -> Call:
    """A page wakes (priority 5), a reminder too; an end and an acknowledgement are quiet."""
    parts = urlsplit(access.url)
    body = {
        "topic": parts.path.strip("/"),
        "title": note.subject[:TITLE_CHARS],
        "message": _cut("\n".join([note.lead, *note.lines])),
        "priority": _priority(note),
        "tags": ["test_tube"] if note.test else [_TAGS[note.standing], note.severity.value],
        "click": note.url,
        "actions": [{"action": "view", "label": "Open in Lastgood", "url": note.url}],
    }
    headers = {"Content-Type": "application/json", "Idempotency-Key": note.delivery_id}
    if access.secret:
        headers["Authorization"] = f"Bearer {access.secret}"
    server = urlunsplit((parts.scheme, parts.netloc, "/", "", ""))
    return Call(server, headers, orjson.dumps(body), (access.url, access.secret))


def _priority(note: Note) -> int:
    if note.test:
        return _DEFAULT
    if note.standing is not Standing.TRIGGERED:
        return _LOW if note.standing is Standing.ACKNOWLEDGED else _DEFAULT
    return _URGENT if note.severity is FindingSeverity.PAGE else _HIGH


def _cut(text: str) -> str:
    whole = text.encode()
    if len(whole) <= MESSAGE_BYTES:
        return text
    return whole[: MESSAGE_BYTES - 3].decode("utf-8", "ignore") + "…"
