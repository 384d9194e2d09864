"""Notes for channels, and channels and rules in the database."""

from __future__ import annotations

from typing import Any

from apps.alerts.domain.access import Access
from apps.alerts.domain.mail import MailFacts
from apps.alerts.domain.message import Kind
from apps.alerts.domain.note import Note, note_of
from apps.alerts.domain.outgoing import Reach
from apps.alerts.models import Channel, Rule
from apps.alerts.sealing import seal
from apps.alerts.transports.http import HttpPolicy
from apps.core.records import Candidate, Evidence
from tests.incident_samples import SECOND, at, finding, incident

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
ROUTING_KEY = "e93facc04764012d7bfb002500d5d1a6"
HERE = HttpPolicy(nearest=Reach.LOOPBACK, total_s=30.0)


def mail_facts(kind: Kind = Kind.OPENING, **fields: Any) -> MailFacts:
    """What is said of the incident of the recorded run `lrbump`."""
    values: dict[str, Any] = {
        "seq": 0,
        "over": False,
        "incident": incident(),
        "run_key": "llm-300b",
        "recipient": "channel:7",
        "site_url": "https://lastgood.example.org",
        "host": "lastgood.example.org",
        "now_ns": at(1003) + 5 * SECOND,
        "dated_ns": at(1003) + 5 * SECOND,
        "findings": (finding(evidence=(Evidence("a <!channel> & @all in a title"),)),),
        "candidates": (Candidate(900, 0, "/c/900", True, "headers_verified", (), 101, 0.1, 0, 1),),
        **fields,
    }
    return MailFacts(kind=kind, **values)


def note(kind: Kind = Kind.OPENING, **fields: Any) -> Note:
    """The same in the form for channels."""
    return note_of(mail_facts(kind, **fields))


def channel(name: str, kind: str = "slack", url: str = "", secret: str = "", **fields: Any) -> int:
    """A stored channel's number."""
    values = {
        "sealed": seal(Access(url, secret)),
        "shown": url if kind == "email" else "http://127.0.0.1/…",
        "changed_at_ns": 1,
        **fields,
    }
    return Channel.objects.create(name=name, kind=kind, **values).pk


def rule(name: str, *channels: int, **fields: Any) -> int:
    """A stored rule's number: for all pages, unless `fields` say otherwise."""
    values = {"severities": ["page"], "changed_at_ns": 1, "channels": list(channels), **fields}
    return Rule.objects.create(name=name, **values).pk
