"""How long an alarm takes: from the row that decides it to the answer of the mail server.

Web, consumer, worker and beat with their default settings, a mail server beside them. Runs start
one after the other, each logs a healthy loss, then an exploded one, a row at a time. The clock of a
run starts when the row is sent on which the detector paged, and stops when its mail is taken.
Between them the message comes into the outbox.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

import httpx
import numpy as np
import orjson

from apps.accounts.services import make_token
from apps.alerts import store as alerts
from apps.core.errors import AppError
from apps.incidents import store as incidents
from apps.incidents.store import IncidentQuery
from apps.runs import store as runs
from workers.benches.processes import BenchProcesses, child, processes, wait_until
from workers.benches.report import BenchOptions, BenchReport
from workers.benches.servers import BenchServers, servers
from workers.benches.smtpsink import Sink, listening
from workers.embedded import server

RUNS = 20
HEALTHY, ROW_S, APART_S, RANKS = 300, 1.0, 4.0, 8
GIVE_UP_ROWS = 80
_KINDS = ("one loss", "and a loss per rank")
_CELERY = ("-m", "celery", "-A", "workers.celery")
_WORKER = (*_CELERY, "worker", "--loglevel", "INFO", "--concurrency", "2", "--without-mingle")
_BEAT = (*_CELERY, "beat", "--loglevel", "INFO", "--pidfile", "")


@dataclass(frozen=True, slots=True)
class Latency:
    """Seconds after the row was sent."""

    in_outbox_s: float
    mail_taken_s: float


@dataclass
class Job(threading.Thread):
    """A training run that explodes at step HEALTHY. sent_s: step -> when its row was sent, by
    time.monotonic(), whose zero is at began_s."""

    key: str
    ranked: bool
    url: str
    secret: str
    sink: Sink
    sent_s: dict[int, float] = field(default_factory=dict)
    began_s: float = field(default_factory=lambda: time.time() - time.monotonic())

    def __post_init__(self) -> None:
        super().__init__(daemon=True)

    def __hash__(self) -> int:
        return id(self)

    def run(self) -> None:
        headers = {"Authorization": f"Bearer {self.secret}"}
        with httpx.Client(headers=headers, timeout=30) as client:
            self._post(client, range(HEALTHY))
            time.sleep(5 * ROW_S)
            for step in range(HEALTHY, HEALTHY + GIVE_UP_ROWS):
                if self.key in self.sink.taken_s:
                    return
                self.sent_s[step] = time.monotonic()
                self._post(client, range(step, step + 1))
                time.sleep(ROW_S)

    def _post(self, client: httpx.Client, steps: range) -> None:
        now_ns = time.time_ns()
        ages = {step: int((steps[-1] - step) * ROW_S * 1e9) for step in steps}
        rows = [row for step in steps for row in self._rows(step, now_ns - ages[step])]
        path = f"{self.url}/api/v1/runs/{self.key}/metrics"
        client.post(path, content=orjson.dumps({"rows": rows})).raise_for_status()

    def _rows(self, step: int, time_ns: int) -> Iterator[dict[str, object]]:
        noise = float(np.sin(step * 12.9898) * 0.01)
        loss = 2.0 + noise if step < HEALTHY else 7.0 + noise
        yield {"step": step, "time_ns": time_ns, "values": {"train/loss": loss}}
        for rank in range(RANKS if self.ranked and step % 10 == 0 else 0):
            values = {"rank/local_loss": loss + 0.001 * rank}
            yield {"step": step, "time_ns": time_ns, "rank": rank, "values": values}

    def latency_s(self) -> Latency:
        """From the row on which it was paged to its mail."""
        run_id = runs.ensure_run(self.key)
        (incident,) = incidents.list_incidents(IncidentQuery(run_id=run_id, severity="page"))
        found = incidents.findings(run_id, incident.id)
        steps = [finding.facts.get("page_step") or finding.seen_step for finding in found]
        sent_s = self.sent_s[min(step for step in steps if step in self.sent_s)]
        opening = next(d for d in alerts.deliveries(run_id=run_id) if d.kind == "opening")
        in_outbox_s = opening.planned_at_ns / 1e9 - self.began_s - sent_s
        return Latency(in_outbox_s, self.sink.taken_s[self.key] - sent_s)


def run(options: BenchOptions) -> BenchReport:
    """Latencies of RUNS runs, every other one with a loss per rank (whose page waits 5 s for a rank
    to stand apart). About two minutes."""
    number = options.steps or RUNS
    with servers() as own, listening() as sink, _everything(own, sink) as site:
        secret = make_token("bench", ["ingest"])
        url = f"http://{server.HOST}:{site.port}"
        jobs = [Job(f"run-{n}", n % 2 == 1, url, secret, sink) for n in range(number)]
        for job in jobs:
            job.start()
            time.sleep(APART_S)
        for job in jobs:
            job.join()
        wait_until(lambda: len(sink.taken_s) == number, "the mails", 60.0)
        found = {
            kind: [job.latency_s() for job in jobs if job.ranked == bool(at)]
            for at, kind in enumerate(_KINDS)
        }
        return report(found, sink.messages)


@contextmanager
def _everything(own: BenchServers, sink: Sink) -> Iterator[BenchProcesses]:
    """All processes of a Lastgood that mails to the sink."""
    os.environ["EMAIL_URL"] = f"smtp://{server.HOST}:{sink.port}"
    os.environ["ALERT_RECIPIENTS"] = "oncall@example.org"
    os.environ["ALERT_MAILS_PER_HOUR"] = "0"
    with ExitStack() as stack:
        site = stack.enter_context(processes(own))
        environment = {
            **os.environ,
            "LASTGOOD_HOME": str(own.home),
            "DATABASE_URL": own.database_url,
            "REDIS_URL": _valkey_url(),
        }
        schedule = ("--schedule", str(own.home / "schedule"))
        stack.enter_context(child("worker", _WORKER, own.home, environment))
        stack.enter_context(child("beat", (*_BEAT, *schedule), own.home, environment))
        log = own.home / "worker.log"
        wait_until(lambda: " ready." in log.read_text(), "the worker's start", 180.0)
        yield site


def _valkey_url() -> str:
    from django.conf import settings

    return str(settings.REDIS_URL)


def report(found: dict[str, list[Latency]], mails: int) -> BenchReport:
    """The figures of some alarms, at least one."""
    every = [latency for some in found.values() for latency in some]
    if not every:
        raise AppError("no mail came")
    sets = {**found, "all": every}
    rows = tuple((kind, str(len(some)), *_spread(some)) for kind, some in sets.items() if some)
    taken = np.percentile([one.mail_taken_s for one in every], [50, 95, 100])
    p50, p95, most = (round(float(q), 3) for q in taken)
    figures = {"alarms": len(every), "p50_s": p50, "p95_s": p95, "max_s": most}
    head = (
        "run logs",
        "alarms",
        "outbox p50 s",
        "outbox p95 s",
        "mail p50 s",
        "mail p95 s",
        "max s",
    )
    return BenchReport(head, rows, {**figures, "mails": mails})


def _spread(some: list[Latency]) -> tuple[str, ...]:
    outbox = np.percentile([one.in_outbox_s for one in some], [50, 95])
    mails = np.percentile([one.mail_taken_s for one in some], [50, 95, 100])
    return tuple(f"{q:.2f}" for q in (*outbox, *mails))
