"""/loki/api/v1/push"""

import base64
import gzip

import pytest

from apps.core.records import Severity
from apps.ingest import labels_store, pushed, stream
from apps.ingest.digest import digest
from apps.ingest.envelope import unpack
from apps.logs.records import LogQuery
from apps.logs.store import read_lines
from apps.runs import store as runs
from tests.pushes import T0_NS, loki_entry, loki_json, loki_push, snapped

PUSH = "/loki/api/v1/push"
AT = str(T0_NS)


@pytest.fixture
def push(client, token, valkey):
    def send(body, kind="application/json", path=PUSH, **headers):
        sent = {"Authorization": f"Bearer {token}", **headers}
        return client.post(path, body, content_type=kind, headers=sent)

    return send


@pytest.fixture
def written(valkey):
    """Writes what waits; (text, rank, node, source, severity) of each line of a run."""

    def lines(run):
        waiting = [unpack(fields[b"e"]) for _, fields in valkey.xrange(stream.STREAM)]
        digest(waiting, quarantine=False)
        found = read_lines(LogQuery(runs.ensure_run(run))).lines
        return [(e.text, e.rank, e.node, e.source, e.severity) for e in found]

    return lines


LABELS = {"run": "r", "rank": "3", "host": "gpu-a01", "level": "error", "cluster": "c"}
LINE = ("it failed", 3, "gpu-a01", "loki@3", Severity.ERROR)


def test_json(push, written):
    answer = push(loki_json((LABELS, [[AT, "it failed"]])))
    assert (answer.status_code, answer.content, written("r")) == (204, b"", [LINE])


def test_json_with_gzip(push, written):
    body = gzip.compress(loki_json((LABELS, [[AT, "it failed"]])))
    assert push(body, **{"Content-Encoding": "gzip"}).status_code == 204
    assert written("r") == [LINE]


@pytest.mark.parametrize("encoding", [{}, {"Content-Encoding": "snappy"}])
def test_protobuf(push, written, encoding):
    labels = '{run="r", rank="3", host="gpu-a01", level="error", cluster="c"}'
    body = snapped(loki_push((labels, [loki_entry("it failed")])))
    assert push(body, "application/x-protobuf", **encoding).status_code == 204
    assert written("r") == [LINE]


def test_structured_metadata_wins_over_the_labels_of_the_stream(push, written):
    body = loki_json((LABELS, [[AT, "it failed", {"rank": "4", "trace": "x y"}]]))
    assert push(body).status_code == 204
    assert written("r") == [('it failed trace="x y"', 4, "gpu-a01", "loki@4", Severity.ERROR)]


def test_the_token_may_be_the_password_of_basic(client, token, valkey):
    secret = base64.b64encode(f"lastgood:{token}".encode()).decode()
    answer = client.post(
        PUSH,
        loki_json((LABELS, [[AT, "x"]])),
        content_type="application/json",
        headers={"Authorization": f"Basic {secret}"},
    )
    assert answer.status_code == 204


def test_lines_of_several_runs_are_appended_together(push, written, valkey):
    other = LABELS | {"run": "s"}
    assert push(loki_json((LABELS, [[AT, "a"]]), (other, [[AT, "b"]]))).status_code == 204
    assert len(valkey.xrange(stream.STREAM)) == 2
    assert (written("r")[0][0], written("s")[0][0]) == ("a", "b")


def test_a_repeated_push_counts_once(push, written):
    for level in (1, 9):
        body = gzip.compress(loki_json((LABELS, [[AT, "x"], [AT, "x"]])), level)
        push(body, **{"Content-Encoding": "gzip"})
    assert [line[0] for line in written("r")] == ["x", "x"]


def test_the_header_says_the_run_where_no_label_does(push, written):
    body = loki_json(({"rank": "1", "SLURM_JOB_ID": "7"}, [[AT, "a"]]), (LABELS, [[AT, "b"]]))
    assert push(body, **{"X-Lastgood-Run": "h"}).status_code == 204
    assert (written("h")[0][0], written("r")[0][0]) == ("a", "b")


def test_a_scheduler_names_the_run_where_nobody_else_does(push, written):
    push(loki_json(({"SLURM_JOB_ID": "7"}, [[AT, "a"]])))
    assert written("slurm-7")[0][0] == "a"


def test_lines_without_a_run_are_refused_and_counted_and_the_others_are_kept(push, written):
    body = loki_json(({"job": "syslog"}, [[AT, "a"], [AT, "b"]]), (LABELS, [[AT, "c"]]))
    answer = push(body)
    assert answer.status_code == 400
    assert answer.content.decode() == (f"2 lines refused: {pushed.NO_RUN} (1 lines taken)\n")
    assert [line[0] for line in written("r")] == ["c"]
    (told,) = labels_store.refusals()
    assert (told.token, told.door, told.reason, told.lines) == ("test", "loki", pushed.NO_RUN, 2)
    seen = [(one.labels, one.run) for one in labels_store.seen_labels("")]
    assert ({"job": "syslog"}, "") in seen
    assert (LABELS, "r") in seen


@pytest.mark.parametrize("value", [["yesterday", "x"], ["-1", "x"], ["1"], ["1", 2], [AT, "x", []]])
def test_a_value_that_cannot_be_read_refuses_no_other(push, written, value):
    answer = push(loki_json((LABELS, [value, [AT, "fine"]])))
    assert (answer.status_code, b"1 lines refused" in answer.content) == (400, True)
    assert [line[0] for line in written("r")] == ["fine"]


@pytest.mark.parametrize(("body", "kind"), [
    (b"{", "application/json"), (b"[]", "application/json"), (b"x", "application/json"),
    (b"\xff\xff", "application/x-protobuf"), (snapped(b"\x0a\xff"), "application/x-protobuf"),
])  # fmt: skip
def test_a_body_that_cannot_be_read_is_400_in_plain_text(push, valkey, body, kind):
    answer = push(body, kind)
    assert (answer.status_code, answer["Content-Type"]) == (400, "text/plain")
    assert valkey.xlen(stream.STREAM) == 0


def test_too_fast_is_429_with_retry_after(push, settings):
    settings.INGEST_RATE_BYTES_S = 1
    bodies = [loki_json((LABELS, [[AT, f"{number}"]])) for number in range(2)]
    answers = [push(body) for body in bodies * 2]
    assert {answer.status_code for answer in answers} == {204, 429}
    assert all(a["Retry-After"] == "1" for a in answers if a.status_code == 429)


def test_a_wrong_token_is_refused(client, valkey, db):
    answer = client.post(PUSH, b"{}", content_type="application/json")
    assert (answer.status_code, answer["Content-Type"]) == (401, "text/plain")


def test_commit_mode_answers_after_the_lines_of_all_runs_are_in(push, settings):
    settings.INGEST_ACK = "commit"
    body = loki_json((LABELS, [[AT, "a"]]), (LABELS | {"run": "s"}, [[AT, "b"]]))
    assert [push(body).status_code for _ in range(2)] == [204, 204]
    texts = [[e.text for e in read_lines(LogQuery(runs.ensure_run(run))).lines] for run in "rs"]
    assert texts == [["a"], ["b"]]


def test_a_tenant_is_the_project(push, written):
    push(loki_json((LABELS, [[AT, "x"]])), **{"X-Scope-OrgID": "team-a"})
    written("r")
    assert runs.get_run("r").project == "team-a"


def test_shippers_ask_whether_it_is_ready(client, db, valkey):
    assert client.get("/ready").status_code == 200
