"""Events for PagerDuty (Events API v2) and what speaks like it."""

from __future__ import annotations

from typing import Any

import orjson

from apps.alerts.domain.access import Access
from apps.alerts.domain.note import Note, Standing, utc
from apps.alerts.domain.outgoing import Call
from apps.core.records import FindingSeverity

SUMMARY_CHARS = 1_024
_ACTIONS = {
    Standing.TRIGGERED: "trigger",
    Standing.ACKNOWLEDGED: "acknowledge",
    Standing.RESOLVED: "resolve",
}
_SEVERITIES = {
    FindingSeverity.PAGE: "critical",
    FindingSeverity.WARN: "warning",
    FindingSeverity.INFO: "info",
}


def call(note: Note, access: Access) -> Call:
    """All events of one incident carry one dedup_key: a repeat, or a reminder, adds to the alert
    that is open and opens no second one.

    Source: PagerDuty/api-schema, reference/events-v2/openapiv3.json.
    """
    action = _ACTIONS[note.standing]
    body: dict[str, Any] = {
        "routing_key": access.secret,
        "event_action": action,
        "dedup_key": note.thread[:255],
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
