"""What a program is told of an order: signed JSON with the headers of Standard Webhooks. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from apps.alerts.domain.note import utc
from apps.alerts.domain.outgoing import Call
from apps.alerts.transports.webhook import signature
from apps.rollbacks.domain.handover import mark
from apps.rollbacks.records import OrderEventInfo, OrderInfo

VERSION: Final = 1
"""Of the body. New fields do not raise it."""
GIVE_UP_NS: Final = 24 * 3_600_000_000_000
"""So long a receiver may be away. By then people have started the run by hand."""
FIRST_WAIT_S: Final = 5.0
MOST_WAIT_S: Final = 600.0


@dataclass(frozen=True, slots=True)
class Target:
    """Where to: the address, whose path may be a password, and the secret of the signature."""

    url: str = field(repr=False)
    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Word:
    """One change of an order. document: the signed order while it waits, else None."""

    run_key: str
    order: OrderInfo
    event: OrderEventInfo
    document: Mapping[str, Any] | None
    page: str

    @property
    def name(self) -> str:
        """ "rollback.requested", "rollback.cancelled", ..."""
        return f"rollback.{self.event.after}"

    @property
    def id(self) -> str:
        """The same at every try, so that a receiver acts once; of no other server's order."""
        order = self.order
        return f"{mark(self.run_key, order.id, order.requested_at_ns)}-{self.event.seq}"


def call(word: Word, target: Target, now_ns: int) -> Call:
    """The request. Source: standardwebhooks.com, specification 1.0. AppError for a bad secret."""
    body = orjson.dumps(payload(word))
    stamp = str(now_ns // 1_000_000_000)
    headers = {
        "Content-Type": "application/json",
        "webhook-id": word.id,
        "webhook-timestamp": stamp,
        "webhook-signature": signature(target.secret, word.id, stamp, body),
    }
    return Call(target.url, headers, body, (target.url, target.secret))


def payload(word: Word) -> dict[str, Any]:
    """The body: type says what happened, data about what. Unknown values are null."""
    order, event = word.order, word.event
    return {
        "version": VERSION,
        "type": word.name,
        "timestamp": utc(event.at_ns),
        "data": {
            "run": word.run_key,
            "order": order.id,
            "state": event.after,
            "step": order.step,
            "from_attempt": order.from_attempt,
            "launch": order.launch or None,
            "by": event.actor,
            "why": event.why,
            "url": word.page,
            "document": word.document,
        },
    }


def wait_s(tries: int, asked_s: float | None) -> float:
    """Until the next try: doubled each time, or what the receiver asks for, at most MOST_WAIT_S."""
    doubled = FIRST_WAIT_S * 2.0 ** min(tries - 1, 10)
    return min(MOST_WAIT_S, max(doubled, asked_s or 0.0))
