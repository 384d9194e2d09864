"""Events for PagerDuty (Events API v2) and what speaks like it."""

from __future__ import annotations

from typing import Any

import orjson

from apps.alerts.domain.access import Access
from apps.alerts.domain.message import Kind
from apps.alerts.domain.note import Note, Standing, utc
from apps.alerts.domain.outgoing import Call
from apps.core.records import FindingSeverity

SUMMARY_CHARS = 1_024
_ACTIONS = {Standing.TRIGGERED: "trigger", Standing.ACKNOWLEDGED: "acknowledge"}
_SEVERITIES = {
    FindingSeverity.PAGE: "critical",
    FindingSeverity.WARN: "warning",
    FindingSeverity.INFO: "info",
}


def calls(note: Note, access: Access) -> tuple[Call, ...]:
    """A page and a warning of one incident have a dedup_key each, the same for all its messages: a
    repeat, or a reminder, adds to the alert that is open and opens no second one, and a warning
    that turns into a page opens an alert that calls somebody. Its end resolves both; PagerDuty
    drops what it does not know.

    Source: PagerDuty/api-schema, reference/events-v2/openapiv3.json.
    """
    page, warning = note.thread[:250], f"{note.thread[:250]}/warn"
    if note.standing is Standing.RESOLVED:
        keys = [("resolve", page), ("resolve", warning)]
    elif note.severity is FindingSeverity.PAGE:
        ended = [("resolve", warning)] if note.kind == Kind.ESCALATION else []
        keys = [(_ACTIONS[note.standing], page), *ended]
    else:
        keys = [(_ACTIONS[note.standing], warning)]
    return tuple(_call(note, access, action, key) for action, key in keys)


def _call(note: Note, access: Access, action: str, key: str) -> Call:
    body: dict[str, Any] = {
        "routing_key": access.secret,
        "event_action": action,
        "dedup_key": key,
    }
    if action == "trigger":
        body |= {
            "payload": _payload(note),
            "client": "Lastgood",
            "client_url": note.url,
            "links": [{"href": note.url, "text": "Open in Lastgood"}],
        }
    headers = {"Content-Type": "application/json", "Idempotency-Key": note.delivery_id}
    return Call(access.url, headers, orjson.dumps(body), (access.secret,))


def _payload(note: Note) -> dict[str, Any]:
    details: dict[str, Any] = {"details": "\n".join(note.lines)} if note.lines else {}
    if note.onset_step is not None:
        details["onset_step"] = note.onset_step
    return {
        "summary": note.subject[:SUMMARY_CHARS],
        "source": note.run_key or note.host,
        "severity": _SEVERITIES[note.severity],
        "timestamp": utc(note.onset_time_ns or note.now_ns),
        "component": note.run_key or "Lastgood",
        "class": note.what or note.kind,
        "custom_details": details,
    }
