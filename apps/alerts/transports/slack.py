"""Messages for chats that take Slack's incoming webhooks: Slack, Mattermost and others."""

from __future__ import annotations

from typing import Any

import orjson

from apps.alerts.domain.access import Access
from apps.alerts.domain.note import Note, Standing
from apps.alerts.domain.outgoing import Call
from apps.core.records import FindingSeverity

HEADER_CHARS, TEXT_CHARS = 150, 3_000
"""What Slack takes in a header and in a section; more and it refuses the whole message.
Source: docs.slack.dev/reference/block-kit/blocks"""
_SIGNS = {
    Standing.ACKNOWLEDGED: ":eyes:",
    Standing.RESOLVED: ":white_check_mark:",
}
_LOUD = {FindingSeverity.PAGE: ":red_circle:", FindingSeverity.WARN: ":warning:"}


def call(note: Note, access: Access) -> Call:
    """text holds everything, because Mattermost shows no blocks; Slack shows the blocks and takes
    the text for the notification."""
    body = {"text": _text(note), "blocks": _blocks(note), "unfurl_links": False}
    headers = {"Content-Type": "application/json", "Idempotency-Key": note.delivery_id}
    return Call(access.url, headers, orjson.dumps(body), (access.url,))


def _text(note: Note) -> str:
    lines = [f"{_sign(note)} *{_escaped(note.lead)}*", *_details(note), note.url]
    return _cut("\n".join(lines), TEXT_CHARS)


def _blocks(note: Note) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = [
        {
            "type": "header",
            "text": {"type": "plain_text", "text": _cut(note.run_key or "Lastgood", HEADER_CHARS)},
        },
        {"type": "section", "text": _markdown(f"{_sign(note)} *{_escaped(note.lead)}*")},
    ]
    details = "\n".join(_details(note))
    if details:
        blocks.append({"type": "section", "text": _markdown(details)})
    blocks.append({"type": "section", "text": _markdown(f"<{note.url}|Open in Lastgood>")})
    return blocks


def _sign(note: Note) -> str:
    return _SIGNS.get(note.standing) or _LOUD.get(note.severity, ":information_source:")


def _details(note: Note) -> list[str]:
    return [f"• {_escaped(line)}" for line in note.lines]


def _markdown(text: str) -> dict[str, str]:
    return {"type": "mrkdwn", "text": _cut(text, TEXT_CHARS)}


def _escaped(text: str) -> str:
    """Nothing in a run's own words calls people (<!channel>) or makes links."""
    plain = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return plain.replace("@", "@\u200b")


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
