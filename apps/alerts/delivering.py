"""Messages through channels: the right transport, and what its answer means for the outbox."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final
from urllib.parse import urlsplit

from django.conf import settings
from django.core.mail import EmailMessage

from apps.alerts import channels_store
from apps.alerts.domain.access import Access
from apps.alerts.domain.note import Note, Standing, trial
from apps.alerts.domain.outgoing import Answer, Call, Reach, Verdict
from apps.alerts.domain.routing import ChannelKind
from apps.alerts.sealing import unseal
from apps.alerts.transports import ntfy, pagerduty, slack, webhook
from apps.alerts.transports.email.transport import MailSession, RetryPolicy
from apps.alerts.transports.http import HttpPolicy, post
from apps.core.errors import AppError

GIVE_UP_S: Final = 86_400.0
"""After this a message for a channel is old news; it is shown as failed."""
_CALLS: Final[dict[ChannelKind, Callable[[Note, Access], tuple[Call, ...]]]] = {
    ChannelKind.SLACK: lambda note, access: (slack.call(note, access),),
    ChannelKind.WEBHOOK: lambda note, access: (webhook.call(note, access),),
    ChannelKind.NTFY: lambda note, access: (ntfy.call(note, access),),
    ChannelKind.PAGERDUTY: pagerduty.calls,
}
SHARING: Final = (ChannelKind.SLACK, ChannelKind.NTFY)
"""Read by people: what belongs together comes together. Pagers and programs get each message."""
_REACHES: Final = {
    "public": Reach.PUBLIC,
    "private": Reach.PRIVATE,
    "loopback": Reach.LOOPBACK,
    "any": Reach.NEVER,
}


class NotNow(AppError):
    """The channel does not take it now. wait_s: how long it asks to wait, None: not said."""

    def __init__(self, message: str, wait_s: float | None = None) -> None:
        super().__init__(message)
        self.wait_s = wait_s


class Never(AppError):
    """The channel will not take it, however often it is tried."""


def shares(channel_id: int) -> bool:
    """Whether messages to this channel may come together."""
    return channels_store.kind(channel_id) in SHARING


def send(channel_id: int, note: Note, planned_at_ns: int) -> None:
    """Returns once the channel has taken the message; else NotNow or Never.

    NotNow becomes Never when the message was planned GIVE_UP_S ago. Blocks for up to
    HttpPolicy.total_s, longer only while a name server does not answer.
    """
    channel = channels_store.access(channel_id)
    if channel is None:
        raise Never("this channel has been deleted")
    if not channel.enabled:
        raise Never(f"the channel “{channel.name}” is switched off")
    answer = _ask(channel.kind, note, _access(channel.sealed))
    if answer.verdict is Verdict.NEVER:
        raise Never(answer.text)
    if answer.verdict is Verdict.LATER:
        if note.now_ns - planned_at_ns > GIVE_UP_S * 1_000_000_000:
            raise Never(f"given up after a day: {answer.text}")
        raise NotNow(answer.text, answer.wait_s)


def _access(sealed: str) -> Access:
    try:
        return unseal(sealed)
    except AppError as error:
        raise Never(str(error)) from None


def _ask(kind: ChannelKind, note: Note, access: Access) -> Answer:
    """The first answer that is not good, else the last. A repeat sends all of them again."""
    answer = Answer(Verdict.NEVER, 0, "nothing to send")
    for call in _CALLS[kind](note, access):
        answer = post(call, http_policy())
        if answer.verdict is not Verdict.TAKEN:
            break
    return answer


def http_policy() -> HttpPolicy:
    """Where requests may go, by the settings."""
    return HttpPolicy(nearest=_REACHES[settings.ALERT_TARGETS], proxy=settings.ALERT_PROXY)


def try_out(kind: ChannelKind, name: str, access: Access, now_ns: int) -> Answer:
    """Sends a test message and waits for the answer. Of a pager the alert is resolved at once."""
    host = urlsplit(settings.PUBLIC_URL).hostname or "localhost"
    note = trial(name, settings.PUBLIC_URL, host, now_ns)
    if kind is ChannelKind.EMAIL:
        return _test_mail(note, access.url)
    answer = _ask(kind, note, access)
    if kind is ChannelKind.PAGERDUTY and answer.verdict is Verdict.TAKEN:
        done = trial(name, settings.PUBLIC_URL, host, now_ns, Standing.RESOLVED)
        return _ask(kind, done, access)
    return answer


def _test_mail(note: Note, address: str) -> Answer:
    mail = EmailMessage(
        note.subject, f"{note.lead}\n\n{note.url}\n", settings.DEFAULT_FROM_EMAIL, [address]
    )
    try:
        with MailSession() as session:
            session.hand_over(mail, RetryPolicy(tries=1))
    except Exception as error:  # noqa: BLE001 - whatever the mail server or its library says
        return Answer(Verdict.LATER, 0, f"{type(error).__name__}: {error}")
    return Answer(Verdict.TAKEN)
