"""Limits at the doors: 429 with Retry-After, counted, and shown on pages."""

import pytest

from apps.accounts.records import SYSTEM
from apps.accounts.services import limit_tokens
from apps.core.clock import now_ns
from apps.dashboard import store_health
from apps.ingest import refusals, services, stream
from apps.logs import keeping
from apps.logs.domain.chunk.budget import DiskUse, Fill
from apps.logs.store import disk, notes
from apps.runs import store as runs
from tests import factories
from tests.log_batches import numbered, send

METRICS = factories.metric_body({1: 2.5})
LOGS = factories.log_body(b"one\ntwo\n")


@pytest.fixture(autouse=True)
def asked_anew(valkey, db):
    """What the process remembers of the disk is of no earlier test."""
    refusals._known[0] = (0.0, False)
    store_health._warned[0] = (0.0, None)
    yield
    refusals._known[0] = (0.0, False)
    store_health._warned[0] = (0.0, None)


@pytest.fixture
def post(client, token):
    def to(door, body, number=0):
        headers = {"Authorization": f"Bearer {token}", "X-Batch-Id": f"{number}"}
        return client.post(f"/api/v1/{door}", body, "application/octet-stream", headers=headers)

    return to


def refused(run="r"):
    return services.status(runs.ensure_run(run)).refused


def fill_the_disk(settings, budget):
    """25 lines are stored, the budget is this; what the job measured."""
    send(numbered(0, 25))
    settings.LOGS_DISK_BYTES = budget
    return keeping.measure_disk(now_ns())


def test_too_many_requests_of_one_token(post, settings, monkeypatch):
    settings.INGEST_RATE_REQUESTS_S = 2
    monkeypatch.setattr("apps.ingest.views.now_ns", lambda: 7 * 10**9)
    answers = [post("runs/r/metrics", METRICS, number) for number in range(3)]
    assert [answer.status_code for answer in answers] == [202, 202, 429]
    assert answers[2].headers["Retry-After"] == "1"
    assert "too many requests" in answers[2].json()["error"]
    assert refused() == {"requests": 1}
    assert stream.backlog().entries == 2


def test_a_token_may_have_limits_of_its_own(post, fresh_caches, monkeypatch):
    monkeypatch.setattr("apps.ingest.views.now_ns", lambda: 7 * 10**9)
    assert limit_tokens("test", 10, 1, actor=SYSTEM) == 1
    assert post("runs/r/metrics", METRICS, 1).status_code == 202
    assert post("runs/r/metrics", METRICS, 2).status_code == 429
    assert refused() == {"rate": 1}


def test_a_full_log_store_closes_the_doors_for_lines_only(post, settings):
    assert fill_the_disk(settings, 1).fill is Fill.FULL
    answer = post("runs/r/logs", LOGS)
    assert (answer.status_code, answer.headers["Retry-After"]) == (429, "60")
    assert "log store is full" in answer.json()["error"]
    assert post("runs/r/lines", b'{"message": "x"}\n').status_code == 429
    assert post("runs/r/metrics", METRICS).status_code == 202
    assert post("nodes/events", b'{"events": []}').status_code == 202
    assert refused() == {"disk": 2}


def test_they_open_again_when_there_is_room(post, settings):
    fill_the_disk(settings, 1)
    assert post("runs/r/logs", LOGS).status_code == 429
    settings.LOGS_DISK_BYTES = 1 << 40
    keeping.measure_disk(now_ns())
    refusals._known[0] = (0.0, True)
    assert post("runs/r/logs", LOGS).status_code == 202


def test_a_full_log_store_also_closes_them_where_an_answer_waits_for_the_commit(post, settings):
    settings.INGEST_ACK = "commit"
    fill_the_disk(settings, 1)
    assert post("runs/r/logs", LOGS).status_code == 429


def test_every_page_warns_early_and_ingest_health_says_what_was_refused(operator, post, settings):
    used = fill_the_disk(settings, 0).used_bytes
    assert "of its budget" not in operator.get("/").content.decode()
    assert fill_the_disk(settings, used * 100 // 85).fill is Fill.WARN
    store_health._warned[0] = (0.0, None)
    assert "of its budget" in operator.get("/").content.decode()
    fill_the_disk(settings, 1)
    store_health._warned[0] = (0.0, None)
    post("runs/r/logs", LOGS)
    text = operator.get("/ingest/").content.decode()
    assert "full: new log lines are told to come again" in text
    assert "the log store is full (LOGS_DISK_BYTES)" in text
    assert (notes.noted("disk_warn"), notes.noted("disk_full")) == ("1", "1")
    fill_the_disk(settings, 1)
    assert notes.noted("disk_full") == "1"


def test_nothing_is_full_before_it_was_measured(valkey):
    assert disk.last() is None
    assert not disk.is_full()


@pytest.mark.parametrize(
    ("used", "budget", "fill"),
    [(79, 100, Fill.OK), (80, 100, Fill.WARN), (100, 100, Fill.FULL), (10**9, 0, Fill.OK)],
)
def test_from_eighty_percent_on_people_are_warned(used, budget, fill):
    assert DiskUse(used, used, budget, 1).fill is fill
