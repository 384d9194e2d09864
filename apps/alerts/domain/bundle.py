"""Several messages in one mail, in words."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from apps.alerts.domain.flow import Why
from apps.alerts.domain.mail import SUBJECT_LENGTH, MailFacts, ascii_line, lead, subject_of
from apps.core.words import many

_SHOWN_LABELS = 3


@dataclass(frozen=True, slots=True)
class Bundle:
    """The messages that one mail says, at least one; the first gives it its Message-ID.

    why: what they share. last_until_ns: the recipient gets no other mail before then, None if
    the next one is not held back.
    """

    facts: tuple[MailFacts, ...]
    why: Why = Why.ALONE
    last_until_ns: int | None = None

    @property
    def first(self) -> MailFacts:
        return self.facts[0]


@dataclass(frozen=True, slots=True)
class Item:
    """One message of a bundle. text: its first line; run: the run it is about."""

    label: str
    run: str
    text: str
    url: str


def bundle_subject(bundle: Bundle) -> str:
    """ "CRITICAL llm-300b: 7 incidents at once (INC-42, INC-43, INC-44, ...)".

    Pure ASCII, at most 78 characters.
    """
    runs = list(dict.fromkeys(facts.run_key for facts in bundle.facts))
    where = ascii_line(runs[0])[:20] + (
        f" and {many(len(runs) - 1, 'run')} more" if runs[1:] else ""
    )
    labels = list(dict.fromkeys(facts.incident.label for facts in bundle.facts))
    shown = ", ".join(labels[:_SHOWN_LABELS]) + (", ..." if labels[_SHOWN_LABELS:] else "")
    urgent = any(facts.incident.page for facts in bundle.facts)
    line = f"{'CRITICAL' if urgent else 'WARNING'} {where}: {_what(bundle)} ({shown})"
    return (
        line if len(line) <= SUBJECT_LENGTH else f"{line[: SUBJECT_LENGTH - 4].rstrip(' ,(')}...)"
    )


def subject_to_keep(bundle: Bundle) -> str:
    """The subject that the closing messages repeat."""
    if len(bundle.facts) > 1:
        return bundle_subject(bundle)
    first = bundle.first
    return first.subject or subject_of(first.incident, first.run_key)


def bundle_lead(bundle: Bundle) -> str:
    """The first sentence of the mail."""
    return {
        Why.WARNINGS: f"{_what(bundle).capitalize()} in the last minutes.",
        Why.STORM: f"{_what(bundle).capitalize()} on one run within two minutes.",
        Why.CAP: f"{_what(bundle).capitalize()} in one mail, because there were so many.",
        Why.ALONE: lead(bundle.first),
    }[bundle.why]


def cap_note(bundle: Bundle) -> str:
    """Says that no other mail comes for a while; "" if the next one is not held back."""
    if bundle.last_until_ns is None:
        return ""
    until = datetime.fromtimestamp(bundle.last_until_ns / 1e9, tz=UTC).strftime("%H:%M UTC")
    more = (
        f"{len(bundle.facts) - 1} more suppressed, they are in this mail; "
        if bundle.facts[1:]
        else ""
    )
    return (
        f"{more}you have had as many mails in an hour as you get: the next ones wait until {until} "
        "and come together. The page shows everything at once."
    )


def items(bundle: Bundle) -> list[Item]:
    """The messages one by one, in their order."""
    return [
        Item(facts.incident.label, facts.run_key, lead(facts), facts.incident_url)
        for facts in bundle.facts
    ]


def _what(bundle: Bundle) -> str:
    noun = {Why.WARNINGS: "warning", Why.STORM: "incident"}.get(bundle.why, "message")
    return many(len(bundle.facts), noun)
