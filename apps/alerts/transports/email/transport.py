"""Handing a message to the mail server."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from smtplib import SMTPException, SMTPServerDisconnected

from django.core.mail import EmailMessage, get_connection


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Tries at once, `pause_s` apart, as healthchecks does."""

    tries: int = 3
    pause_s: float = 1.0


DEFAULT_RETRY = RetryPolicy()
SMTP_ANSWERS = 8
"""A delivery waits for: connection, EHLO, AUTH (twice), MAIL, RCPT, DATA, the end of the data."""


def hand_over(
    message: EmailMessage,
    policy: RetryPolicy = DEFAULT_RETRY,
    *,
    before_retry: Callable[[], None] = lambda: None,
) -> None:
    """Returns once the mail server has taken the message.

    Raises the last SMTPException or OSError after `tries` failures. A try blocks for up to
    SMTP_ANSWERS * EMAIL_TIMEOUT; before_retry is called ahead of every further one.
    """
    for left in reversed(range(policy.tries)):
        try:
            if not get_connection().send_messages([message]):
                raise SMTPServerDisconnected("the mail server took no message")
        except (SMTPException, OSError):
            if left == 0:
                raise
            time.sleep(policy.pause_s)
            before_retry()
        else:
            return
