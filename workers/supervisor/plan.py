"""Which children there are, in which order, on which ports."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from apps.core.errors import AppError
from workers.embedded import Postgres, Valkey, server
from workers.supervisor import probes
from workers.supervisor.spec import ChildSpec, Probe, of_server

ROOT = Path(__file__).resolve().parents[2]
_LAST_PORT = 65_534
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - a name, not a bind


@dataclass(frozen=True, slots=True)
class Plan:
    """Addresses and levels. A level starts when all children of the one before are ready.

    evaluates: this machine also runs evaluations of checkpoints.
    storage: whether any folder may be looked at for checkpoints.
    listens: whether anything is asked about machines.
    """

    home: Path
    bind: str
    port: int
    postgres: Postgres | None
    valkey: Valkey | None
    external: Mapping[str, str]
    evaluates: bool = False
    storage: bool = False
    listens: bool = False

    @property
    def web_url(self) -> str:
        """Where this machine reaches the pages."""
        return f"http://{_reachable(self.bind)}:{self.port}"

    @property
    def events_url(self) -> str:
        """Where this machine reaches the event stream."""
        return f"http://{_reachable(self.bind)}:{self.port + 1}"

    @property
    def database_url(self) -> str:
        """The given or the embedded Postgres; the latter is known once it is prepared."""
        return self.postgres.url if self.postgres else self.external["DATABASE_URL"]

    @property
    def redis_url(self) -> str:
        """The given or the embedded Valkey; the latter is known once it is prepared."""
        return self.valkey.url if self.valkey else self.external["REDIS_URL"]

    def servers(self) -> list[ChildSpec]:
        """Level 0."""
        return [of_server(one) for one in (self.valkey, self.postgres) if one is not None]

    def environment(self) -> dict[str, str]:
        """What each child gets on top of the supervisor's own environment."""
        return {
            "DATABASE_URL": self.database_url,
            "REDIS_URL": self.redis_url,
            "LASTGOOD_HOME": str(self.home),
            "LASTGOOD_WEB_URL": self.web_url,
            "LASTGOOD_EVENTS_URL": self.events_url,
            "PORT": str(self.port),
        }

    def passwords(self) -> list[str]:
        """What must never be shown."""
        urls = (self.database_url, self.redis_url)
        found = [urlsplit(url).password or "" for url in urls]
        return [*found, *(unquote(one) for one in found)]


def read(environ: Mapping[str, str]) -> Plan:
    """The plan that the environment asks for. Raises AppError for a wrong or taken PORT."""
    home = (ROOT / (environ.get("LASTGOOD_HOME") or "var")).resolve()
    bind = environ.get("LASTGOOD_BIND") or server.HOST
    external = {
        name: value for name in ("DATABASE_URL", "REDIS_URL") if (value := _given(environ, name))
    }
    return Plan(
        home=home,
        bind=bind,
        port=_port(environ.get("PORT") or "8000"),
        postgres=None if "DATABASE_URL" in external else Postgres(home),
        valkey=None
        if "REDIS_URL" in external
        else Valkey(home, "everysec" if environ.get("INGEST_ACK") == "everysec" else "always"),
        external=external,
        evaluates=bool(environ.get("EVALUATION_PROGRAMS")),
        storage=bool(environ.get("CHECKPOINT_ROOTS")),
        listens=bool(environ.get("NODE_SOURCES")),
    )


def refuse_taken_port(plan: Plan) -> None:
    """Raise AppError with a free PORT to try if web's or events' port is taken."""
    for number in (plan.port, plan.port + 1):
        if not server.is_free(number, plan.bind):
            raise AppError(
                f"port {number} is taken by another program",
                where="PORT",
                hint=f"try PORT={_next_free(plan.port + 2, plan.bind)}",
            )


def migrate() -> ChildSpec:
    """Level 1: bring the tables up to date."""
    return ChildSpec("migrate", manage("migrate", "--no-input"), once=True, restart=False)


def services(plan: Plan) -> list[ChildSpec]:
    """Level 2: everything that is Lastgood."""
    schedule = plan.home / "run" / "celerybeat-schedule"
    web = ("--interface", "wsgi", "--blocking-threads", "24", "config.wsgi:application")
    events = ("--interface", "asginl", "config.asgi:application")
    worker = ("worker", "--loglevel", "INFO", "--concurrency", "2", "--without-mingle")
    return [
        ChildSpec("web", _granian(plan, plan.port, *web), ready=_http(plan, plan.port)),
        ChildSpec(
            "events", _granian(plan, plan.port + 1, *events), ready=_http(plan, plan.port + 1)
        ),
        ChildSpec("consumer", manage("consumer"), ready_line=" is reading"),
        ChildSpec("worker", _celery(*worker), ready_line=" ready."),
        *_storage_worker(plan),
        ChildSpec(
            "beat",
            _celery("beat", "--loglevel", "INFO", "--pidfile", "", "--schedule", str(schedule)),
            ready_line="beat: Starting",
        ),
        *_evaluator(plan),
        *_listener(plan),
    ]


def _evaluator(plan: Plan) -> list[ChildSpec]:
    """Only where something may be evaluated: it costs the memory of a process."""
    if not plan.evaluates:
        return []
    words = ("worker", "--queues", "evaluation", "--pool", "threads", "--concurrency", "1")
    argv = _celery(*words, "--hostname", "evaluator@%h", "--loglevel", "INFO", "--without-mingle")
    return [ChildSpec("evaluator", argv, ready_line=" ready.", grace_s=30.0)]


def _listener(plan: Plan) -> list[ChildSpec]:
    """Only where there is something to ask."""
    listens = ChildSpec("listener", manage("listener"), ready_line=" is listening")
    return [listens] if plan.listens else []


def _storage_worker(plan: Plan) -> list[ChildSpec]:
    """Only where folders may be looked at. Threads: they wait for processes that they start."""
    if not plan.storage:
        return []
    words = ("worker", "--queues", "storage", "--pool", "threads", "--concurrency", "4")
    argv = _celery(*words, "--hostname", "storage@%h", "--loglevel", "INFO", "--without-mingle")
    return [ChildSpec("storage", argv, ready_line=" ready.")]


def manage(*words: str) -> tuple[str, ...]:
    """argv of a `manage.py` command."""
    return (sys.executable, "manage.py", *words)


def _granian(plan: Plan, port: int, *words: str) -> tuple[str, ...]:
    common = ("--host", plan.bind, "--port", str(port), "--workers", "1", "--no-ws")
    care = ("--respawn-failed-workers", "--respawn-interval", "1", "--workers-kill-timeout", "5")
    return (sys.executable, "-m", "granian", *common, *care, *words)


def _celery(*words: str) -> tuple[str, ...]:
    return (sys.executable, "-m", "celery", "-A", "workers.celery", *words)


def _http(plan: Plan, port: int) -> Probe:
    """None once GET /health/live answers 200."""
    return lambda: probes.http_ok(_reachable(plan.bind), port, "/health/live")


def _given(environ: Mapping[str, str], name: str) -> str:
    """The value of `name`, or the content of the file that NAME_FILE names."""
    path = environ.get(f"{name}_FILE")
    return Path(path).read_text(encoding="utf-8").strip() if path else environ.get(name, "")


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or not 0 < int(text) <= _LAST_PORT:
        raise AppError(
            f'"{text}" is not a port', where="PORT", hint=f"use a number from 1 to {_LAST_PORT}"
        )
    return int(text)


def _next_free(start: int, bind: str) -> int:
    pairs = range(start, _LAST_PORT)
    return next(n for n in pairs if server.is_free(n, bind) and server.is_free(n + 1, bind))


def _reachable(bind: str) -> str:
    return _EVERYWHERE.get(bind, bind)
