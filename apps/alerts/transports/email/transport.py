"""Handing messages to the mail server."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from smtplib import SMTPException, SMTPServerDisconnected
from types import TracebackType

from django.core.mail import EmailMessage, get_connection
from django.core.mail.backends.base import BaseEmailBackend


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Tries at once, `pause_s` apart, as healthchecks does."""

    tries: int = 3
    pause_s: float = 1.0


DEFAULT_RETRY = RetryPolicy()
SMTP_ANSWERS = 8
"""A delivery waits for: connection, EHLO, AUTH (twice), MAIL, RCPT, DATA, the end of the data."""


class MailSession:
    """A connection to the mail server, for several messages one after the other.

    It is opened by the first message and left open: a worker that dies between the server's
    answer and the commit of "sent" sends the message twice, so nothing may lie between the two,
    not even saying good-bye to the server.
    """

    def __init__(self) -> None:
        self._backend: BaseEmailBackend | None = None

    def __enter__(self) -> MailSession:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def hand_over(
        self,
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
                if not self._opened().send_messages([message]):
                    raise SMTPServerDisconnected("the mail server took no message")
            except (SMTPException, OSError):
                self.close()
                if left == 0:
                    raise
                time.sleep(policy.pause_s)
                before_retry()
            else:
                return

    def close(self) -> None:
        """Ends the connection if there is one; the next message opens another."""
        backend, self._backend = self._backend, None
        if backend is not None:
            try:
                backend.close()
            except (SMTPException, OSError):
                return  # it is gone, which is what was wanted

    def _opened(self) -> BaseEmailBackend:
        if self._backend is None:
            backend = get_connection()
            backend.open()
            self._backend = backend
        return self._backend
