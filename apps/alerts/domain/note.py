"""What a channel is told: the facts of a message without the form of a mail."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from urllib.parse import urlsplit

from apps.alerts.domain import bundle, mail
from apps.alerts.domain.bundle import Bundle
from apps.alerts.domain.mail import MailFacts
from apps.alerts.domain.message import Kind
from apps.core.records import FindingSeverity

_NAMES = uuid.UUID("6c9a6d3e-5d4b-5a51-9d0a-4f7f1f0a9a11")
"""Where delivery ids are made from; never change it: receivers would take repeats for news."""
MAX_LINES = 9
MAX_TOGETHER = 20


class Standing(StrEnum):
    """How an incident stands in the words of pagers."""

    TRIGGERED = "triggered"
    ACKNOWLEDGED = "acknowledged"
    RESOLVED = "resolved"


@dataclass(frozen=True, slots=True)
class Note:
    """One message for a channel.

    delivery_id: the same for every try of the same message. thread: the same for every message of
    one incident. subject: one ASCII line; lead: one sentence; lines: evidence and checkpoints.
    """

    delivery_id: str
    thread: str
    kind: str
    seq: int
    standing: Standing
    severity: FindingSeverity
    subject: str
    lead: str
    lines: tuple[str, ...]
    url: str
    host: str
    run_key: str
    now_ns: int
    incident: int | None = None
    what: str = ""
    attempt: int | None = None
    onset_step: int | None = None
    onset_time_ns: int | None = None
    opened_at_ns: int | None = None
    by: str = ""

    @property
    def test(self) -> bool:
        """Whether somebody pressed "Send test"."""
        return self.kind == "test"


def note_of(facts: MailFacts) -> Note:
    """The message of the outbox in the form for channels."""
    incident = facts.incident
    key = f"{facts.host}/{incident.run_id}/{incident.id}/{facts.recipient}/{facts.kind}/{facts.seq}"
    ending = mail.ending(facts)
    lines = [ending] if ending else []
    lines += [f"What to do: {facts.advice.sentence}"] if facts.advice else []
    lines += mail.evidence_lines(facts)
    lines += [f"Roll back to {line}" for line in mail.candidate_lines(facts.candidates)]
    return Note(
        delivery_id=str(uuid.uuid5(_NAMES, key)),
        thread=f"inc-{incident.id}.run-{incident.run_id}@{facts.host}",
        kind=facts.kind.value,
        seq=facts.seq,
        standing=_standing(facts),
        severity=incident.severity,
        subject=facts.subject or mail.subject_of(incident, facts.run_key),
        lead=_lead(facts),
        lines=tuple(lines[:MAX_LINES]),
        url=facts.incident_url,
        host=facts.host,
        run_key=facts.run_key,
        now_ns=facts.now_ns,
        incident=incident.id,
        what=incident.kind,
        attempt=incident.attempt,
        onset_step=incident.onset_step,
        onset_time_ns=incident.onset_time_ns,
        opened_at_ns=incident.opened_at_ns,
        by=incident.acknowledged_by,
    )


def note_of_all(shared: Bundle) -> Note:
    """Several messages as one, for chats and phones; its delivery id is that of the first."""
    first = note_of(shared.first)
    if len(shared.facts) == 1:
        return first
    items = bundle.items(shared)
    lines = [f"{item.label} {item.run}: {item.text} {item.url}" for item in items]
    hidden = len(lines) - MAX_TOGETHER
    over = all(facts.over for facts in shared.facts)
    page = any(facts.incident.page for facts in shared.facts)
    return replace(
        first,
        standing=Standing.RESOLVED if over else Standing.TRIGGERED,
        severity=FindingSeverity.PAGE if page else first.severity,
        subject=bundle.bundle_subject(shared),
        lead=bundle.bundle_lead(shared),
        lines=(*lines[:MAX_TOGETHER], *([f"and {hidden} more"] if hidden > 0 else [])),
        url=f"{shared.first.site_url}/incidents/",
        run_key=first.run_key if len({item.run for item in items}) == 1 else "",
    )


def _standing(facts: MailFacts) -> Standing:
    if facts.over:
        return Standing.RESOLVED
    return Standing.ACKNOWLEDGED if facts.kind is Kind.ACKNOWLEDGED else Standing.TRIGGERED


def _lead(facts: MailFacts) -> str:
    if facts.kind is not Kind.ACKNOWLEDGED:
        return mail.lead(facts)
    return f"ACKNOWLEDGED by {facts.incident.acknowledged_by}: {facts.incident.title}"


def trial(
    channel: str, site_url: str, host: str, now_ns: int, standing: Standing = Standing.TRIGGERED
) -> Note:
    """What "Send test" sends: unmistakably no incident. Every press is a message of its own."""
    thread = f"test-{now_ns}@{host}"
    return Note(
        delivery_id=str(uuid.uuid5(_NAMES, f"{thread}/{standing}")),
        thread=thread,
        kind="test",
        seq=0,
        standing=standing,
        severity=FindingSeverity.INFO,
        subject=f"TEST of the channel {mail.ascii_line(channel)}: nothing is wrong",
        lead=f"Test of the channel “{channel}”. No incident, nothing to do.",
        lines=(),
        url=f"{site_url}/alerts/",
        host=host,
        run_key="",
        now_ns=now_ns,
    )


def warning_note(headline: str, hint: str, site_url: str, now_ns: int) -> Note:
    """That Lastgood's own messages do not get out; a message about no incident."""
    host = urlsplit(site_url).hostname or "localhost"
    thread = f"deadman-{now_ns}@{host}"
    return Note(
        delivery_id=str(uuid.uuid5(_NAMES, thread)),
        thread=thread,
        kind="deadman",
        seq=0,
        standing=Standing.TRIGGERED,
        severity=FindingSeverity.PAGE,
        subject=f"CRITICAL Lastgood: {mail.ascii_line(headline)}",
        lead=headline,
        lines=(hint,),
        url=f"{site_url}/incidents/",
        host=host,
        run_key="",
        now_ns=now_ns,
    )


def utc(time_ns: int) -> str:
    """ISO 8601 with milliseconds and Z."""
    moment = datetime.fromtimestamp(time_ns / 1e9, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
