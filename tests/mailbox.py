"""A real SMTP server for tests."""

from __future__ import annotations

import asyncio
import email
import email.policy
import logging
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import EmailMessage
from typing import Any

from aiosmtpd.controller import Controller

_A_LONG_TIME_S = 3600.0


@dataclass
class Mailbox:
    """What the server took.

    refuse: the next so many messages get a temporary error. stall_at: this command is never
    answered, "EHLO", "MAIL", "RCPT" or "DATA" (the message is read and not kept), or "TAKEN" (it is
    kept); `entered` is set when one hangs.
    """

    received: list[EmailMessage] = field(default_factory=list)
    envelopes: list[tuple[str, list[str]]] = field(default_factory=list)
    refuse: int = 0
    offered: int = 0
    stall_at: str = ""
    url: str = ""
    entered: threading.Event = field(default_factory=threading.Event)

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        """aiosmtpd's hook."""
        self.offered += 1
        await self._reached("DATA")
        if self.refuse:
            self.refuse -= 1
            return "451 try again later"
        parsed = email.message_from_bytes(envelope.content, policy=email.policy.default)
        assert isinstance(parsed, EmailMessage)
        self.received.append(parsed)
        self.envelopes.append((envelope.mail_from, envelope.rcpt_tos))
        await self._reached("TAKEN")
        return "250 taken"

    async def handle_EHLO(
        self, server: Any, session: Any, envelope: Any, name: str, answers: list[str]
    ) -> list[str]:
        """aiosmtpd's hook."""
        await self._reached("EHLO")
        session.host_name = name
        return answers

    async def handle_MAIL(
        self, server: Any, session: Any, envelope: Any, address: str, options: list[str]
    ) -> str:
        """aiosmtpd's hook."""
        await self._reached("MAIL")
        envelope.mail_from = address
        return "250 OK"

    async def handle_RCPT(
        self, server: Any, session: Any, envelope: Any, address: str, options: list[str]
    ) -> str:
        """aiosmtpd's hook."""
        await self._reached("RCPT")
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def _reached(self, command: str) -> None:
        if self.stall_at == command:
            self.entered.set()
            await asyncio.sleep(_A_LONG_TIME_S)

    def subjects(self) -> list[str]:
        """Subjects in the order of arrival."""
        return [str(message["Subject"]) for message in self.received]


def serve(mailbox: Mailbox) -> Controller:
    """A running server on a free loopback port; `stop()` ends it."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    logging.getLogger("mail.log").setLevel(logging.WARNING)
    controller = Controller(mailbox, hostname="127.0.0.1", port=port)
    controller.start()
    return controller


@contextmanager
def post_office() -> Iterator[Mailbox]:
    """A mailbox whose server runs; its address is `url`."""
    box = Mailbox()
    server = serve(box)
    box.url = f"smtp://127.0.0.1:{server.port}"
    try:
        yield box
    finally:
        server.stop()


def mails_about(mailbox: Mailbox, run: str) -> list[EmailMessage]:
    """Mails about a run, in the order of arrival."""
    return [message for message in mailbox.received if message["X-Run"] == run]


def parts_of(message: EmailMessage) -> set[str]:
    """Content types of the leaves: text/plain, text/html, image/png."""
    return {part.get_content_type() for part in message.walk() if not part.is_multipart()}


def inline_plots(message: EmailMessage) -> list[str]:
    """Content-IDs of the pictures that the HTML part shows."""
    html = message.get_body(("html",)).get_content()
    ids = [str(p["Content-ID"]).strip("<>") for p in message.walk() if p["Content-ID"]]
    return [cid for cid in ids if f"cid:{cid}" in html]
