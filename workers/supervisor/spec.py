"""What the supervisor must know about one child."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from workers.embedded import Server

Probe = Callable[[], str | None]


@dataclass(frozen=True, slots=True)
class ChildSpec:
    """One child process.

    argv: started in the checkout, in its own session. env: on top of the common environment
    (DATABASE_URL, REDIS_URL, LASTGOOD_HOME, PORT, LASTGOOD_WEB_URL, LASTGOOD_EVENTS_URL).
    ready: called in a thread until it returns None; a text says what it still waits for.
    ready_line: or ready once a line of output holds this text. Neither: ready when started.
    restart: start again when it ends, with back-off. once: must end with 0 before the next level.
    grace_s: from stop_signal to SIGKILL. server: an embedded server instead of argv.
    """

    name: str
    argv: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    ready: Probe | None = None
    ready_line: str = ""
    restart: bool = True
    once: bool = False
    grace_s: float = 10.0
    stop_signal: int = int(signal.SIGTERM)
    server: Server | None = None


def of_server(server: Server) -> ChildSpec:
    """The spec of an embedded server."""
    return ChildSpec(
        name=server.name,
        ready=server.probe,
        grace_s=server.grace_s,
        stop_signal=server.stop_signal,
        server=server,
    )
