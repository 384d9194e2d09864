"""Bodies of Alertmanager's webhook, version 4. Plain Python.

https://prometheus.io/docs/alerting/latest/configuration/#webhook_config
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import msgspec

from apps.core.errors import BadPayload
from apps.core.records import NodeEvent
from apps.ingest import frames
from apps.ingest.alertmanager import meaning
from apps.ingest.nodes.parse import MAX_EVENTS, MAX_RAW, NodeBatch
from apps.nodes.domain.xids import xid

SOURCE = "alertmanager"
MAX_LABELS = 100
MAX_MESSAGE = 1_000
_XID = re.compile(r"xid_(\d{1,4})")
MAX_NS = 2**62
"""Of frames.Whole; in the year 2116."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_Time = Annotated[datetime, msgspec.Meta(tz=True)]
_Texts = Annotated[dict[str, str], msgspec.Meta(max_length=MAX_LABELS)]


class _Alert(msgspec.Struct, frozen=True):
    status: str
    labels: _Texts
    startsAt: _Time
    endsAt: _Time | None = None
    annotations: _Texts = {}
    fingerprint: str = ""


class _Body(msgspec.Struct, frozen=True):
    version: str
    alerts: Annotated[list[_Alert], msgspec.Meta(max_length=MAX_EVENTS)]
    truncatedAlerts: frames.Whole = 0


def parse(body: bytes) -> NodeBatch:
    """An event for each alert whose labels name a node; the others are counted.

    The same alert (fingerprint and start) is the same event, however often it is notified; one
    that is resolved has its end. BadPayload says which field is wrong.
    """
    read = frames.decode(body, _Body)
    if read.version != "4":
        raise BadPayload(
            f'version "{read.version[:20]}" of the webhook is unknown',
            where="version",
            hint="this door takes what Alertmanager 0.8 and later send: version 4",
        )
    events = [_event(alert, f"alerts[{at}]") for at, alert in enumerate(read.alerts)]
    known = tuple(event for event in events if event is not None)
    without = len(events) - len(known)
    return NodeBatch(known, {"alerts_without_node": without, "alerts_cut": read.truncatedAlerts})


def _event(alert: _Alert, where: str) -> NodeEvent | None:
    node = meaning.node_of(alert.labels).replace("\0", "\ufffd")
    if not node:
        return None
    start_ns, kind = _ns(alert.startsAt), meaning.kind_of(alert.labels)
    number = _XID.fullmatch(kind)
    code = xid(int(number[1])) if number else None
    if start_ns < 0:
        raise BadPayload("an alert starts before 1970", where=f"{where}.startsAt")
    return NodeEvent(
        node=node,
        time_ns=start_ns,
        kind=kind,
        severity=meaning.severity_of(alert.labels, code.severity if code else "warning"),
        message=_message(alert, code.words() if code else ""),
        device=meaning.device_of(alert.labels),
        source=SOURCE,
        raw=_raw(alert),
        ended_ns=_ended_ns(alert, start_ns),
        key=alert.fingerprint or _raw_labels(alert),
    )


def _ended_ns(alert: _Alert, start_ns: int) -> int | None:
    """Alertmanager writes year 1 as the end of what goes on, and may write a planned end."""
    if alert.status != "resolved" or alert.endsAt is None:
        return None
    return max(start_ns, _ns(alert.endsAt))


def _message(alert: _Alert, otherwise: str) -> str:
    name = alert.labels.get("alertname", "alert without a name")
    notes = (alert.annotations.get(note) for note in ("summary", "message", "description"))
    said = next((note for note in notes if note), otherwise)
    return " ".join(f"{name}: {said}".split()).removesuffix(":")[:MAX_MESSAGE]


def _raw(alert: _Alert) -> str:
    own: dict[str, Any] = {"labels": alert.labels, "annotations": alert.annotations}
    return msgspec.json.encode(own).decode()[:MAX_RAW]


def _raw_labels(alert: _Alert) -> str:
    return msgspec.json.encode(sorted(alert.labels.items())).decode()


def _ns(moment: datetime) -> int:
    """A time that lies further ahead than events may is the last one they may have."""
    return min((moment - _EPOCH) // timedelta(microseconds=1) * 1_000, MAX_NS)
