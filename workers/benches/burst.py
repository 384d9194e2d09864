"""`bench burst`: 1,024 ranks fail at once, and each pushes its 200 last lines within ten seconds.

By each door for lines in turn: how many answers were errors, how long after the last push the last
of the lines is found, the CPU time and the most memory of web and the consumer. Every rank is a
client with a connection of its own, as after a failure; the client's own work is not measured.
"""

from __future__ import annotations

import asyncio
import gzip
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import orjson

from apps.accounts.services import make_token
from apps.core.sql import query
from apps.logs import search
from apps.logs.records import LogQuery
from apps.runs import store as runs
from workers.benches.processes import processes, wait_until
from workers.benches.report import BenchOptions, BenchReport
from workers.benches.servers import servers
from workers.embedded import server

RANKS: Final = 1_024
LINES: Final = 200
GPUS_A_HOST: Final = 8
RANKS_A_SECOND: Final = 128
"""So many begin to push, evenly; the last of 1,024 is answered within ten seconds."""
_NS: Final = 1_000_000_000
_SAID: Final = (
    "[rank{rank}]:[E ProcessGroupNCCL.cpp:616] [Rank {rank}] Watchdog caught collective operation "
    "timeout: WorkNCCL(SeqNum={number}, OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600{number} "
    "milliseconds before timing out."
)


@dataclass(frozen=True, slots=True)
class _Door:
    """path: below the address of web, {run} for the run's key. body: (run, rank, lines) -> it."""

    name: str
    path: str
    encoding: str
    body: Callable[[str, int, list[str]], bytes]


def _node(rank: int) -> str:
    return f"gpu-{rank // GPUS_A_HOST:03d}"


def _json_lines(run: str, rank: int, texts: list[str]) -> bytes:
    now = time.time_ns()
    lines = (
        {"ts": now + at, "host": _node(rank), "rank": rank, "level": "ERROR", "msg": text}
        for at, text in enumerate(texts)
    )
    return b"\n".join(map(orjson.dumps, lines))


def _loki(run: str, rank: int, texts: list[str]) -> bytes:
    now = time.time_ns()
    labels = {"run": run, "rank": str(rank), "host": _node(rank), "level": "error"}
    values = [[str(now + at), text] for at, text in enumerate(texts)]
    return gzip.compress(orjson.dumps({"streams": [{"stream": labels, "values": values}]}), 1)


def _otlp(run: str, rank: int, texts: list[str]) -> bytes:
    now = time.time_ns()
    labels = {"run": run, "RANK": str(rank), "host.name": _node(rank)}
    resource = [{"key": key, "value": {"stringValue": value}} for key, value in labels.items()]
    records = [
        {"timeUnixNano": str(now + at), "severityNumber": 17, "body": {"stringValue": text}}
        for at, text in enumerate(texts)
    ]
    scopes = [{"logRecords": records}]
    request = {"resourceLogs": [{"resource": {"attributes": resource}, "scopeLogs": scopes}]}
    return gzip.compress(orjson.dumps(request), 1)


DOORS: Final = (
    _Door("lines", "/api/v1/runs/{run}/lines", "identity", _json_lines),
    _Door("loki", "/loki/api/v1/push", "gzip", _loki),
    _Door("otlp", "/v1/logs", "gzip", _otlp),
)


def run(options: BenchOptions) -> BenchReport:
    """One burst by each door. steps: lines of a rank; keys: ranks."""
    ranks, lines = options.keys or RANKS, options.steps or LINES
    figures: dict[str, float] = {"ranks": ranks, "lines_a_rank": lines}
    table = []
    with servers() as running, processes(running) as started:
        secret = make_token("burst", ["ingest"])
        for door in DOORS:
            before = started.parts_cpu_s()
            found = asyncio.run(_burst(started.port, secret, door, ranks, lines))
            errors = sum(n for status, n in found.statuses.items() if not 200 <= status < 300)
            stored = (ranks - errors) * lines
            late_s = _searchable(door, stored, found.marker) - found.last_s
            cpu_s = {part: s - before[part] for part, s in started.parts_cpu_s().items()}
            measured = {
                "errors": errors,
                "push_s": round(found.last_s - found.first_s, 2),
                "slowest_answer_s": round(found.slowest_s, 2),
                "searchable_after_s": round(late_s, 2),
                "web_cpu_s": round(cpu_s["web"], 2),
                "consumer_cpu_s": round(cpu_s["consumer"], 2),
                "web_peak_mb": round(started.web_peak_bytes() / 1e6),
                "consumer_peak_mb": round(started.consumer_peak_bytes() / 1e6),
            }
            figures |= {f"{door.name}_{name}": value for name, value in measured.items()}
            table.append((door.name, *map(str, measured.values())))
    head = ("door", "errors", "pushed in s", "slowest answer s", "searchable after s", "web CPU s",
            "consumer CPU s", "web MB", "consumer MB")  # fmt: skip
    return BenchReport(head, tuple(table), figures)


@dataclass(frozen=True, slots=True)
class _Found:
    """Moments are seconds of time.monotonic(). marker: stands in the last line of the last rank."""

    statuses: Counter[int]
    first_s: float
    last_s: float
    slowest_s: float
    marker: str


async def _burst(port: int, secret: str, door: _Door, ranks: int, lines: int) -> _Found:
    key, marker = f"burst-{door.name}", f"marker-{time.time_ns()}"
    requests = []
    for rank in range(ranks):
        texts = [_SAID.format(rank=rank, number=number) for number in range(lines)]
        if rank == ranks - 1:
            texts[-1] = marker
        requests.append(_request(port, secret, door, key, door.body(key, rank, texts)))
    first_s = time.monotonic()
    answers = await asyncio.gather(
        *(_one(port, first_s + at / RANKS_A_SECOND, sent) for at, sent in enumerate(requests))
    )
    statuses = Counter(status for status, _, _ in answers)
    slowest_s = max(took_s for _, took_s, _ in answers)
    return _Found(statuses, first_s, max(end_s for _, _, end_s in answers), slowest_s, marker)


def _request(port: int, secret: str, door: _Door, run_key: str, body: bytes) -> bytes:
    head = (
        f"POST {door.path.format(run=run_key)} HTTP/1.1\r\nHost: {server.HOST}:{port}\r\n"
        f"Authorization: Bearer {secret}\r\nContent-Type: application/json\r\n"
        f"Content-Encoding: {door.encoding}\r\nContent-Length: {len(body)}\r\n"
        "Connection: close\r\n\r\n"
    )
    return head.encode() + body


async def _one(port: int, start_s: float, sent: bytes) -> tuple[int, float, float]:
    """(status, seconds to the answer, when it came) of one rank; status 0: no answer."""
    await asyncio.sleep(max(0.0, start_s - time.monotonic()))
    began_s = time.monotonic()
    try:
        reader, writer = await asyncio.open_connection(server.HOST, port)
        writer.write(sent)
        answer = await reader.read(200)
        writer.close()
    except OSError:
        answer = b""
    status = int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/1.1 ") else 0
    end_s = time.monotonic()
    return status, end_s - began_s, end_s


def _searchable(door: _Door, lines: int, marker: str) -> float:
    """When the lines are stored and a search finds the last one, in seconds of time.monotonic()."""
    run_id = runs.ensure_run(f"burst-{door.name}")
    sql = "SELECT coalesce(sum(lines), 0) FROM logs_chunk WHERE run_id = %s"
    wait_until(lambda: query(sql, [run_id])[0][0] >= lines, "the lines")
    wanted = LogQuery(run_id, text=marker)
    wait_until(lambda: len(search.page(wanted).lines) == 1, "the last line")
    return time.monotonic()
