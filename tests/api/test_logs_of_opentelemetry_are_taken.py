"""/v1/logs"""

import gzip
import json

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse

from apps.core.records import Severity
from apps.ingest import pushed, stream
from apps.ingest.digest import digest
from apps.ingest.envelope import unpack
from apps.logs.records import LogQuery
from apps.logs.store import read_lines
from apps.runs import store as runs
from tests.pushes import T0_NS, field, otlp_record, otlp_request

DOOR = "/v1/logs"
PROTOBUF, JSON = "application/x-protobuf", "application/json"
RESOURCE = {"run": "r", "RANK": 3, "LOCAL_RANK": "1", "host.name": "gpu-a01", "service.name": "llm"}


@pytest.fixture
def post(client, token, valkey):
    def send(body, kind=PROTOBUF, path=DOOR, **headers):
        sent = {"Authorization": f"Bearer {token}", **headers}
        return client.post(path, body, content_type=kind, headers=sent)

    return send


@pytest.fixture
def written(valkey):
    """Writes what waits; the lines of the run "r"."""

    def lines():
        waiting = [unpack(fields[b"e"]) for _, fields in valkey.xrange(stream.STREAM)]
        digest(waiting, quarantine=False)
        return read_lines(LogQuery(runs.ensure_run("r"))).lines

    return lines


def as_json(record, resource=RESOURCE):
    attributes = [{"key": k, "value": {"stringValue": str(v)}} for k, v in resource.items()]
    of_scope = {"scope": {"name": "train"}, "logRecords": [record]}
    return json.dumps(
        {"resourceLogs": [{"resource": {"attributes": attributes}, "scopeLogs": [of_scope]}]}
    ).encode()


def test_protobuf(post, written):
    answer = post(otlp_request(RESOURCE, otlp_record("it failed", severity=17)))
    assert (answer.status_code, answer.content, answer["Content-Type"]) == (200, b"", PROTOBUF)
    (line,) = written()
    assert (line.text, line.rank, line.local_rank, line.node, line.source, line.severity) == (
        "it failed", 3, 1, "gpu-a01", "llm@3", Severity.ERROR,
    )  # fmt: skip
    assert line.time_ns == T0_NS


def test_json_with_gzip_at_lokis_address(post, written):
    record = {"timeUnixNano": str(T0_NS), "severityNumber": 13, "body": {"stringValue": "slow"}}
    body = gzip.compress(as_json(record))
    answer = post(body, JSON, "/otlp/v1/logs", **{"Content-Encoding": "gzip"})
    assert (answer.status_code, answer.json()) == (200, {})
    (line,) = written()
    assert (line.text, line.rank, line.severity, line.time_ns) == (
        "slow", 3, Severity.WARNING, T0_NS,
    )  # fmt: skip


BODIES = {
    "text": ("plain", "plain"),
    "number": (7, "7"),
    "bytes": (b"raw\xff", "raw\ufffd"),
    "list": (["a", 1, 1.5, True], '["a",1,1.5,true]'),
    "mapping": ({"msg": "hello", "loss": 2.5, "deep": {"er": "x"}}, "hello loss=2.5 deep.er=x"),
}


@pytest.mark.parametrize("kind", BODIES)
def test_every_kind_of_body_is_text(post, written, kind):
    body, text = BODIES[kind]
    post(otlp_request(RESOURCE, otlp_record(body)))
    assert [line.text for line in written()] == [text]


def test_a_stack_trace_stands_below_its_message(post, written):
    trace = 'Traceback (most recent call last):\n  File "a.py", line 1\nValueError: bad'
    attributes = {"exception.stacktrace": trace, "exception.type": "ValueError", "code.lineno": 7}
    post(otlp_request(RESOURCE, otlp_record("died", severity=17, **attributes)))
    lines = written()
    assert [line.text for line in lines] == [
        "died exception.type=ValueError", *trace.split("\n"),
    ]  # fmt: skip
    assert {line.severity for line in lines} == {Severity.ERROR}


def test_without_a_time_that_of_its_observation_counts(post, written):
    post(otlp_request(RESOURCE, otlp_record("x", time_ns=0, observed_ns=T0_NS + 5)))
    assert written()[0].time_ns == T0_NS + 5


def test_attributes_of_a_record_win(post, written):
    post(otlp_request(RESOURCE, otlp_record("x", rank=9)))
    assert written()[0].rank == 9


NO_RUN = {"host.name": "gpu-a01"}


def test_records_without_a_run_are_a_partial_success_in_protobuf(post, written):
    body = otlp_request(NO_RUN, otlp_record("a"), otlp_record("b"))
    answer = post(body + otlp_request(RESOURCE, otlp_record("c")))
    told = ExportLogsServiceResponse.FromString(answer.content).partial_success
    assert (answer.status_code, told.rejected_log_records) == (200, 2)
    assert told.error_message == f"2 lines refused: {pushed.NO_RUN}"
    assert [line.text for line in written()] == ["c"]


def test_records_without_a_run_are_a_partial_success_in_json(post):
    answer = post(as_json({"body": {"stringValue": "x"}}, NO_RUN), JSON)
    assert answer.json()["partialSuccess"]["rejectedLogRecords"] == "1"
    assert pushed.NO_RUN in answer.json()["partialSuccess"]["errorMessage"]


def test_a_bad_body_is_a_status_in_the_form_of_the_request(post):
    answer = post(b"{", JSON)
    assert (answer.status_code, answer.json()["code"]) == (400, 3)
    answer = post(b"\x0a\xff")
    assert (answer.status_code, answer["Content-Type"]) == (400, PROTOBUF)
    assert answer.content.startswith(field(1, 3) + b"\x12")


def test_an_unknown_type_is_415(post):
    assert post(b"x", "text/plain").status_code == 415


def test_a_wrong_token_is_refused(client, db):
    answer = client.post(DOOR, b"{}", content_type=JSON)
    assert (answer.status_code, answer.json()["code"]) == (401, 16)


def test_valkey_away_is_503_with_retry_after(post, settings):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    answer = post(otlp_request(RESOURCE, otlp_record("x")))
    assert (answer.status_code, answer["Retry-After"]) == (503, "2")
