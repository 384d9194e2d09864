"""Health checks for containers: `python -m workers.health WHAT`; status 0 when well.

web PORT        GET /health/ready on this machine answers 200 (database and queue answer)
events PORT     GET /health/live answers 200
consumer        a consumer of this host reads the stream
worker          the Celery worker of this host answers a ping
storage         the Celery worker of this host that looks at storage does
evaluator       the Celery worker of this host that evaluates checkpoints does
listener        somebody has asked a source about its nodes as often as is due
beat FILE       the schedule file was written in the last quarter of an hour
"""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path

from workers.supervisor.probes import http_ok

_IDLE_MS = 60_000
_SCHEDULE_AGE_S = 900
_LATE_S = 120.0
_PING_S = 10.0
_LOCAL = "127.0.0.1"


def web(port: str) -> str | None:
    """None if well, else what is wrong; so do all the checks below."""
    return http_ok(_LOCAL, int(port), "/health/ready")


def events(port: str) -> str | None:
    """The event process answers."""
    return http_ok(_LOCAL, int(port), "/health/live")


def consumer() -> str | None:
    """A consumer named after this host asked the stream for work within a minute."""
    from apps.core import valkey
    from apps.ingest import stream

    consumers = valkey.client().xinfo_consumers(stream.STREAM, stream.GROUP)
    mine = [c for c in consumers if c["name"].decode().startswith(socket.gethostname())]
    if any(c["idle"] < _IDLE_MS for c in mine):
        return None
    return f"no consumer of this host has read for {_IDLE_MS // 1000} s"


def worker() -> str | None:
    """The Celery worker named after this host answers."""
    return _pinged(f"celery@{socket.gethostname()}")


def storage() -> str | None:
    """The one that looks at storage answers."""
    return _pinged(f"storage@{socket.gethostname()}")


def evaluator() -> str | None:
    """The one that evaluates checkpoints answers."""
    return _pinged(f"evaluator@{socket.gethostname()}")


def listener() -> str | None:
    """A source was asked in time, whether it answered or not: no restart helps a dead exporter."""
    from apps.core.clock import now_ns
    from apps.ingest.nodes.status import statuses

    now = now_ns()
    if any(now - s.tried_ns < (s.silent_after_s + _LATE_S) * 1e9 for s in statuses()):
        return None
    return "no source was asked when it was due"


def _pinged(name: str) -> str | None:
    from workers.celery import app

    return None if app.control.ping([name], timeout=_PING_S) else f"{name} does not answer"


def beat(schedule: str) -> str | None:
    """Beat writes its schedule every three minutes; the suffix depends on the dbm at hand."""
    path = Path(schedule)
    times = [found.stat().st_mtime for found in path.parent.glob(f"{path.name}*")]
    if times and time.time() - max(times) < _SCHEDULE_AGE_S:
        return None
    return f"{schedule} was not written for {_SCHEDULE_AGE_S} s"


_CHECKS: dict[str, Callable[..., str | None]] = {
    check.__name__: check
    for check in (web, events, consumer, worker, storage, evaluator, listener, beat)
}


def main(argv: list[str]) -> int:
    """0 when well; else 1 and the reason on stderr."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    reason = _CHECKS[argv[0]](*argv[1:])
    if reason is not None:
        sys.stderr.write(f"{reason}\n")
    return 0 if reason is None else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
