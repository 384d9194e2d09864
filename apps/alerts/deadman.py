"""The dead-man's switch: other processes notice that alert messages do not get out, and say so.

Nothing here needs the alert worker, Celery or Valkey: the mail server and the channels are spoken
to by the process that notices.
"""

from __future__ import annotations

import logging
import re
from email.utils import formatdate
from urllib.parse import urlsplit

from django.conf import settings

from apps.alerts import channels_store, delivering, pulse_store, routing
from apps.alerts.domain import deadman, mail
from apps.alerts.domain.body import Body, Link
from apps.alerts.domain.deadman import Trouble
from apps.alerts.domain.note import Note, warning_note
from apps.alerts.domain.routing import ChannelKind
from apps.alerts.domain.timing import SECOND_NS
from apps.alerts.transports.email import message
from apps.alerts.transports.email.transport import MailSession, RetryPolicy
from apps.core.errors import AppError

log = logging.getLogger(__name__)

LEASE_NS = 300 * SECOND_NS
"""How long a process may take to tell; another one tries after it."""


def trouble(now_ns: int) -> Trouble | None:
    """Why messages do not get out, None if they do. One statement."""
    return deadman.judge(pulse_store.vital(now_ns), now_ns)


def watch(now_ns: int) -> Trouble | None:
    """Looks, and tells people of a trouble once: the default recipients by mail, and every channel.

    Told is who was reached by one way at least; else it is tried again after LEASE_NS.
    """
    found = trouble(now_ns)
    if found is None:
        if pulse_store.well():
            log.warning("alerts.get_out_again")
        return None
    if pulse_store.claim_telling(now_ns, LEASE_NS):
        log.error("alerts.do_not_get_out", extra={"why": found.headline(now_ns)})
        if _tell_all(found, now_ns):
            pulse_store.told(now_ns)
    return found


def _tell_all(found: Trouble, now_ns: int) -> int:
    """How many ways it went out."""
    reached = sum(_tell_by_mail(to, found, now_ns) for to in routing.recipients())
    note = warning_note(found.headline(now_ns), found.hint, settings.PUBLIC_URL, now_ns)
    others = [c for c in channels_store.channels() if c.enabled and c.kind is not ChannelKind.EMAIL]
    return reached + sum(_tell_channel(channel.id, note) for channel in others)


def _tell_by_mail(recipient: str, found: Trouble, now_ns: int) -> bool:
    headline = found.headline(now_ns)
    host = urlsplit(settings.PUBLIC_URL).hostname or "localhost"
    name = re.sub(r"[^A-Za-z0-9]+", ".", recipient).strip(".")
    body = Body(
        tone="critical",
        lead=f"{headline}.",
        about=tuple(line for line in (found.hint, found.answer) if line),
        todo=(Link("Open incidents", f"{settings.PUBLIC_URL}/incidents/", main=True),),
        why=(
            "You get this because you are on the default list. It was sent past the alert worker.",
            "It comes once; the banner on every page stays until messages get out again.",
        ),
    )
    headers = {
        "Message-ID": f"<deadman-{now_ns}.{name}@{host}>",
        "List-Id": mail.list_id("", host),
        "Auto-Submitted": "auto-generated",
        "X-Auto-Response-Suppress": "All",
        "Date": formatdate(now_ns / 1e9, usegmt=True),
    }
    subject = f"CRITICAL Lastgood: {mail.ascii_line(headline)}"[: mail.SUBJECT_LENGTH]
    made = message.render(body, subject, (settings.DEFAULT_FROM_EMAIL, recipient), headers)
    try:
        with MailSession() as session:
            session.hand_over(made, RetryPolicy(tries=1))
    except Exception:
        log.exception("alerts.deadman_mail_failed")
        return False
    return True


def _tell_channel(channel_id: int, note: Note) -> bool:
    try:
        delivering.send(channel_id, note, note.now_ns)
    except AppError as error:
        log.warning("alerts.deadman_channel_failed", extra={"why": error.message})
        return False
    return True
