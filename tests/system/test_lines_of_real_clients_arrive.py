"""Clients as people install them, over the loopback: OpenTelemetry's SDK, python-logging-loki, the
standard library; and a snappy push as Promtail makes it."""

import json
import logging
import time
import urllib.request

import httpx
import pytest
from logging_loki import LokiHandler
from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.resources import Resource

from tests.pushes import T0_NS, loki_entry, loki_push, snapped
from tests.stack import until

LINES = 40


@pytest.fixture
def bearer(stack):
    return {"Authorization": f"Bearer {stack.token}"}


def stored(stack, run):
    """Every line of a run, once all that was accepted is written."""
    until(lambda: stack.drained(run), "the writer")
    return stack.get(f"runs/{run}/logs?limit=500")["items"]


def told(lines):
    return [(e["text"], e["rank"], e["node"], e["source"], e["severity"]) for e in lines]


@pytest.fixture
def logger():
    """A logger of its own, without handlers before and after."""
    made = logging.Logger("train")
    yield made
    for handler in made.handlers:
        handler.close()


@pytest.mark.parametrize("compression", [Compression.NoCompression, Compression.Gzip])
def test_the_sdk_of_opentelemetry(stack, bearer, compression):
    run = f"otel-{compression.value}"
    resource = Resource.create(
        {"run": run, "RANK": "3", "LOCAL_RANK": "1", "host.name": "gpu-a01", "service.name": "llm"}
    )
    exporter = OTLPLogExporter(f"{stack.url}/v1/logs", headers=bearer, compression=compression)
    provider = LoggerProvider(resource)
    provider.add_log_record_processor(BatchLogRecordProcessor(exporter, max_export_batch_size=16))
    source = provider.get_logger("train")
    for number in range(LINES):
        source.emit(
            LogRecord(
                timestamp=T0_NS + number,
                severity_number=SeverityNumber.ERROR if number % 2 else SeverityNumber.INFO,
                body=f"line {number}",
                attributes={"step": number},
            )
        )
    provider.force_flush()
    provider.shutdown()
    lines = stored(stack, run)
    assert told(lines) == [
        (f"line {n}", 3, "gpu-a01", "llm@3", "error" if n % 2 else "info") for n in range(LINES)
    ]
    assert [e["time_ns"] for e in lines] == [T0_NS + n for n in range(LINES)]
    assert [e["step"] for e in lines] == list(range(LINES))


def test_python_logging_loki(stack, logger):
    tags = {"run": "loki-client", "rank": "5", "host": "gpu-a01"}
    push = f"{stack.url}/loki/api/v1/push"
    logger.addHandler(LokiHandler(url=push, tags=tags, auth=("lastgood", stack.token), version="1"))
    for number in range(5):
        logger.warning("line %d", number, extra={"tags": {"step": number}})
    lines = stored(stack, "loki-client")
    assert sorted(told(lines)) == [
        (f"line {n}", 5, "gpu-a01", "train@5", "warning") for n in range(5)
    ]
    assert sorted(e["step"] for e in lines) == list(range(5))


def test_a_snappy_push(stack, bearer):
    streams = [
        (f'{{run="promtail", filename="/logs/rank_{rank:03d}.log", host="gpu-a01"}}',
         [loki_entry(f"line {n}", T0_NS + n, detected_level="error") for n in range(LINES)])
        for rank in range(2)
    ]  # fmt: skip
    headers = {**bearer, "Content-Type": "application/x-protobuf", "Content-Encoding": "snappy"}
    body = snapped(loki_push(*streams))
    answers = [
        httpx.post(f"{stack.url}/loki/api/v1/push", content=body, headers=headers) for _ in range(2)
    ]
    assert [answer.status_code for answer in answers] == [204, 204]
    assert told(stored(stack, "promtail")) == [
        (f"line {n}", rank, "gpu-a01", f"/logs/rank_{rank:03d}.log", "error")
        for n in range(LINES)
        for rank in range(2)
    ]


class JsonLines(logging.Handler):
    """Twelve lines of a standard library handler, as docs/ingest.md shows it."""

    def __init__(self, url, token, **fields):
        super().__init__()
        self.url, self.token, self.fields = url, token, fields

    def emit(self, record):
        line = {"ts": record.created, "level": record.levelname, "source": record.name,
                "msg": self.format(record), **self.fields}  # fmt: skip
        sent = urllib.request.Request(self.url, json.dumps(line).encode())  # noqa: S310
        sent.add_header("Authorization", f"Bearer {self.token}")
        urllib.request.urlopen(sent, timeout=10).close()  # noqa: S310


def test_pythons_own_logging(stack, logger):
    door = f"{stack.url}/api/v1/runs/stdlib/lines"
    logger.addHandler(JsonLines(door, stack.token, rank=2, host="gpu-a01"))
    before = time.time_ns()
    try:
        raise ValueError("bad batch")
    except ValueError:
        logger.exception("died")
    lines = stored(stack, "stdlib")
    assert (lines[0]["text"], lines[-1]["text"]) == ("died", "ValueError: bad batch")
    assert {(e["rank"], e["source"], e["severity"]) for e in lines} == {(2, "train@2", "error")}
    assert before - 10**7 < lines[0]["time_ns"] < time.time_ns()


def test_journald(stack, bearer):
    line = {"__REALTIME_TIMESTAMP": str(T0_NS // 1000), "_HOSTNAME": "gpu-a01", "PRIORITY": "2",
            "SYSLOG_IDENTIFIER": "kernel", "_TRANSPORT": "kernel", "_BOOT_ID": "b",
            "MESSAGE": "NVRM: Xid (PCI:0000:9b:00): 79, GPU has fallen off the bus."}  # fmt: skip
    door = f"{stack.url}/api/v1/runs/journald/lines"
    assert httpx.post(door, content=json.dumps(line), headers=bearer).status_code == 202
    assert told(stored(stack, "journald")) == [
        (line["MESSAGE"], None, "gpu-a01", "kernel", "critical")
    ]
