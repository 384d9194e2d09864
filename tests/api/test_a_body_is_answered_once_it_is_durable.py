"""The data doors: token, limits, append, answer."""

import gzip

import pytest

from apps.ingest import stream, views
from apps.ingest.envelope import unpack
from tests import factories

DOOR = "/api/v1/runs/r/metrics"
BODY = factories.metric_body({1: 2.5})


@pytest.fixture
def post(client, token, valkey):
    def send(path=DOOR, body=BODY, secret=token, extra=(), **headers):
        return client.post(
            path,
            body,
            content_type="application/json",
            headers={"Authorization": f"Bearer {secret}", **headers},
            **dict(extra),
        )

    return send


def entries(valkey):
    return [unpack(fields[b"e"]) for _, fields in valkey.xrange(stream.STREAM)]


def test_it_waits_undecoded_in_the_stream(post, valkey):
    packed = gzip.compress(BODY)
    answer = post(body=packed, **{"Content-Encoding": "gzip", "X-Batch-Id": "b-1"})
    (kept,) = entries(valkey)
    assert (answer.status_code, answer.json()) == (202, {"batch": "b-1"})
    assert (kept.batch_id, kept.endpoint, kept.encoding) == ("b-1", "metrics", "gzip")
    assert kept.body == packed


def test_without_a_batch_id_the_same_body_gets_the_same_one(post):
    assert post().json() == post().json()


@pytest.mark.parametrize("door", ["launches", "logs", "wandb", "metrics", "checkpoints"])
def test_a_wrong_token_is_refused_before_anything_else(post, valkey, door):
    answer = post(path=f"/api/v1/runs/r/{door}", secret="lg_wrong")
    assert answer.status_code == 403
    assert set(answer.json()) == {"error", "where", "hint", "docs"}
    assert entries(valkey) == []


def test_without_a_token_the_answer_is_401(client, valkey, db):
    assert client.post(DOOR, BODY, content_type="application/json").status_code == 401


def test_a_token_without_the_scope_is_refused(post):
    from apps.accounts.services import make_token

    answer = post(secret=make_token("reader", ["read"]))
    assert (answer.status_code, "ingest" in answer.json()["error"]) == (403, True)


def test_a_huge_body_is_413_and_not_read(post, settings, valkey):
    settings.INGEST_MAX_BODY_BYTES = 10
    answer = post()
    assert (answer.status_code, "10 bytes" in answer.json()["error"]) == (413, True)
    assert entries(valkey) == []


def test_a_body_without_a_length_is_411_and_never_taken_for_an_empty_one(post, valkey):
    answer = post(extra={"CONTENT_LENGTH": ""}, **{"Transfer-Encoding": "chunked"})
    assert (answer.status_code, answer.json()["where"]) == (411, "Content-Length")
    assert entries(valkey) == []


def test_an_empty_body_is_400(post):
    answer = post(body=b"", extra={"CONTENT_LENGTH": "0"})
    assert (answer.status_code, answer.json()["error"]) == (400, "the body is empty")


def test_an_unknown_encoding_is_415(post):
    answer = post(**{"Content-Encoding": "br"})
    assert (answer.status_code, "zstd" in answer.json()["hint"]) == (415, True)


def test_a_malformed_batch_id_is_400(post):
    answer = post(**{"X-Batch-Id": "a b"})
    assert (answer.status_code, answer.json()["where"]) == (400, "X-Batch-Id")


def test_a_malformed_run_key_is_400(post):
    answer = post(path="/api/v1/runs/-x/metrics")
    assert (answer.status_code, answer.json()["where"]) == (400, "run key")


@pytest.fixture
def one_second(monkeypatch, settings):
    """The clock stands still, and a token may send less than two bodies."""
    settings.INGEST_RATE_BYTES_S = 2 * len(BODY)
    monkeypatch.setattr(views, "now_ns", lambda: factories.T0_NS)


def test_too_fast_is_429_with_retry_after(post, one_second):
    assert post().status_code == 202
    answer = post()
    assert (answer.status_code, answer["Retry-After"]) == (429, "1")


def test_a_namesake_has_a_rate_of_its_own(post, one_second):
    from apps.accounts.services import make_token

    post()
    assert post(secret=make_token("test", ["ingest"])).status_code == 202


def test_a_full_stream_is_503_and_nothing_is_trimmed(post, settings, valkey):
    settings.INGEST_STREAM_MAX_BYTES = 1
    assert post().status_code == 202
    answer = post()
    assert (answer.status_code, answer["Retry-After"]) == (503, "10")
    assert len(entries(valkey)) == 1


def test_valkey_away_is_503(post, settings):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    answer = post()
    assert (answer.status_code, answer["Retry-After"]) == (503, "2")


def test_get_is_no_door(client, token):
    answer = client.get(
        "/api/v1/runs/nowhere/launches", headers={"Authorization": f"Bearer {token}"}
    )
    assert (answer.status_code, answer["Allow"]) == (405, "POST")
    assert answer.json()["hint"] == "use POST"


def test_commit_mode_says_at_once_what_is_wrong(post, settings):
    settings.INGEST_ACK = "commit"
    answer = post(body=b'{"rows":[{"step":-1}]}')
    assert (answer.status_code, answer.json()["where"]) == (400, "rows[0].step")


def test_commit_mode_answers_after_the_rows_are_in(post, settings):
    from apps.ingest import store
    from apps.runs.store import ensure_run

    settings.INGEST_ACK = "commit"
    assert post().status_code == 202
    assert store.counters(ensure_run("r"))["points"] == 1


def test_what_commit_mode_wrote_is_analysed_without_a_consumer(post, settings, valkey):
    from apps.ingest.services import status
    from apps.runs.store import ensure_run
    from workers.tasks.detect import catch_up

    settings.INGEST_ACK = "commit"
    post()
    assert (status(ensure_run("r")).behind, entries(valkey)) == (1, [])
    assert catch_up() == 1
    assert status(ensure_run("r")).behind == 0
