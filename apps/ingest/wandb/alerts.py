"""`run.alert()` of the `wandb` client: parsed, then a finding, in the caller's transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

import orjson
from django.db import transaction

from apps.alerts import services as alerts
from apps.core import live
from apps.core.errors import BadPayload
from apps.core.records import FindingSeverity
from apps.incidents import services as incidents
from apps.incidents.domain.script_alert import TEXT_LENGTH, TITLE_LENGTH, ScriptAlert
from apps.ingest.envelope import Envelope, batch_id
from apps.ingest.wandb.graphql import text_of
from apps.ingest.wandb.said import ALERT_LEVELS, cut, wait_ms
from apps.ingest.wandb.sessions import copy_number
from apps.ingest.writes import Written
from apps.runs import services as runs
from apps.runs import store as runs_store

ENDPOINT: Final = "graphql"
"""The address it came to; nothing else that comes there waits in the stream."""


def packed(variables: Mapping[str, Any]) -> bytes:
    """What waits in the stream of a NotifyScriptableRunAlert: only what is read later, bounded."""
    wait = variables.get("waitDuration")
    kept = {
        "title": cut(text_of(variables, "title"), TITLE_LENGTH),
        "text": cut(text_of(variables, "text"), TEXT_LENGTH),
        "severity": text_of(variables, "severity")[:20],
        "wait_ms": wait_ms(wait) if isinstance(wait, int) else 0,
    }
    return orjson.dumps(kept)


def batch_of(run_key: str, body: bytes, at_ns: int) -> str:
    """The batch id of an alert. Its time is a part of it: the same words may be said again, and a
    retry is known by them."""
    return batch_id(None, endpoint=f"alert/{at_ns}", run_key=run_key, body=body)


def parse_alert(body: bytes, received_ns: int) -> ScriptAlert:
    """The alert; BadPayload if it is none. An unknown severity counts as INFO, as at W&B."""
    try:
        said = orjson.loads(body)
        title, text, wait = said["title"], said["text"], said["wait_ms"]
        severity = ALERT_LEVELS.get(said["severity"].upper(), FindingSeverity.INFO)
        return ScriptAlert(title or "untitled", text, severity, wait * 1_000_000, received_ns)
    except (orjson.JSONDecodeError, LookupError, TypeError, AttributeError) as error:
        raise BadPayload(f"is not an alert ({error!r})", where="body") from None


def write_alert(envelope: Envelope, alert: ScriptAlert) -> Written:
    """The alert as a finding of the attempt it was said in; a paging one is planned to be sent."""
    run_id, now_ns = envelope.run_id, envelope.received_ns
    attempt = runs.settle_attempt(run_id, envelope.attempt, now_ns).number
    copied = copy_number(envelope.writer) is not None
    said = replace(alert, step=runs_store.last_step(run_id, attempt), copied=copied)
    return Written(frozenset({attempt}), report(envelope, attempt, [said]))


def report(envelope: Envelope, attempt: int, said: Sequence[ScriptAlert]) -> Mapping[str, int]:
    """Makes alerts findings of the attempt; what to count."""
    if not said:
        return {}
    run_id, now_ns = envelope.run_id, envelope.received_ns
    done = incidents.report(run_id, attempt, said, now_ns)
    alerts.plan(done.changes, now_ns)
    tell = partial(live.publish, envelope.run_key, step=None, what=["incidents"])
    transaction.on_commit(tell)
    return {
        "wandb_alerts": len(said),
        "repeated_alerts": done.repeated,
        "alerts_not_kept": done.not_kept,
    }
