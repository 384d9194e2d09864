"""Mails that are about no incident: the daily digest, and notices to administrators."""

from __future__ import annotations

import re
from email.utils import formatdate
from urllib.parse import urlsplit

from django.conf import settings
from django.core.mail import EmailMultiAlternatives

from apps.alerts import mail_store, store
from apps.alerts.domain import digest, mail
from apps.alerts.domain.body import Body, Link
from apps.alerts.domain.digest import Entry
from apps.alerts.domain.message import Kind
from apps.alerts.store import Address, Claimed
from apps.alerts.transports.email import message
from apps.incidents import store as incidents
from apps.runs import store as runs


def plan_digests(now_ns: int) -> int:
    """The digests that are due by now and have something to tell; how many.

    What a day's digest is about is decided once: a quiet morning gets a row too, a withdrawn one.
    """
    return sum(_plan_digest(to, now_ns) for to in mail_store.readers(now_ns))


def _plan_digest(recipient: str, now_ns: int) -> bool:
    wishes = mail_store.habits(recipient)
    day = digest.day_of(now_ns, wishes.zone)
    if day is None or not wishes.digest:
        return False
    address = Address(0, 0, recipient)
    if store.known(address, Kind.DIGEST, day):
        return False
    something = bool(_entries(recipient, day, wishes.zone))
    return mail_store.add_digest(address, day, now_ns, wanted=something) and something


def _entries(recipient: str, day: int, zone: str) -> list[Entry]:
    """The incidents that the recipient was told of, or would have been."""
    since_ns, until_ns = digest.period_ns(day, zone)
    told = mail_store.of_reader(recipient, since_ns)
    found = [i for run_id, ids in told.items() for i in incidents.get_many(run_id, ids)]
    keys = runs.keys(told)
    entries = [
        Entry(info, keys[info.run_id], mail_store.FLAPPING in told[info.run_id][info.id])
        for info in found
    ]
    return digest.worth_telling(entries, since_ns, until_ns)


def build(claimed: Claimed, now_ns: int) -> EmailMultiAlternatives | None:
    """The mail; None if there is nothing left to tell."""
    to = claimed.address.recipient
    if claimed.kind is Kind.NOTICE:
        words = store.subject_of(claimed)
        return _mail(claimed, mail.ascii_line(words)[: mail.SUBJECT_LENGTH], _notice(words))
    zone = mail_store.habits(to).zone
    entries = _entries(to, claimed.seq, zone)
    if not entries:
        return None
    body = digest.digest_body(entries, settings.PUBLIC_URL, zone, now_ns)
    return _mail(claimed, digest.digest_subject(entries), body)


def _notice(words: str) -> Body:
    return Body(
        tone="warning",
        lead=f"{words}.",
        todo=(Link("Open the alert rules", f"{settings.PUBLIC_URL}/alerts/", main=True),),
        why=("You get this because you are an administrator of this Lastgood.",),
    )


def _mail(claimed: Claimed, subject: str, body: Body) -> EmailMultiAlternatives:
    host = urlsplit(settings.PUBLIC_URL).hostname or "localhost"
    to = re.sub(r"[^A-Za-z0-9]+", ".", claimed.address.recipient).strip(".")
    name = f"{claimed.kind.value}-{claimed.seq}.{claimed.address.incident_id}.{to}"
    headers = {
        "Message-ID": f"<{name}@{host}>",
        "List-Id": mail.list_id("", host),
        "Auto-Submitted": "auto-generated",
        "X-Auto-Response-Suppress": "All",
        "Date": formatdate(claimed.dated_ns / 1e9, usegmt=True),
    }
    return message.render(
        body, subject, (settings.DEFAULT_FROM_EMAIL, claimed.address.recipient), headers
    )
