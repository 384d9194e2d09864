"""/ingest/: how fast and how late each run sends, and which token sends what cannot be read."""

import pytest
from msgspec.structs import replace

from apps.core.clock import now_ns
from apps.ingest import arrivals
from apps.ingest.arrivals import Pace, Sample, compared
from apps.ingest.digest import digest
from apps.runs.store import ensure_run
from tests.factories import envelope, metric_body

SECOND_NS = 10**9


@pytest.fixture
def run_id(db, valkey):
    run_id = ensure_run("r")
    digest([envelope("metrics", metric_body({1: 2.0}), run_id=run_id)])
    return run_id


def test_the_speed_is_that_between_the_first_and_the_last_sample(run_id, reader):
    now = now_ns()
    arrivals.take_sample(now - 60 * SECOND_NS)
    digest([envelope("metrics", metric_body(dict.fromkeys(range(2, 122), 2.0)), run_id=run_id)])
    arrivals.take_sample(now)
    assert arrivals.paces(now) == {run_id: Pace(points_s=2.0, lines_s=0.0)}
    (row,) = reader.get("/ingest/").context["runs"]
    assert row["pace"] == Pace(2.0, 0.0)


def test_old_samples_say_nothing_of_now(run_id):
    now = now_ns()
    for second in (0, 15):
        arrivals.take_sample(now + second * SECOND_NS)
    assert arrivals.paces(now + 15 * SECOND_NS) == {run_id: Pace(0.0, 0.0)}
    assert arrivals.paces(now + arrivals.STALE_NS + 16 * SECOND_NS) == {}


@pytest.mark.parametrize("samples", [[], [Sample(5, {1: (1, 1)})], [Sample(5, {1: (1, 1)})] * 2])
def test_one_moment_has_no_speed(samples):
    assert compared(samples) == {}


def test_a_counter_that_began_anew_is_no_negative_speed():
    samples = [Sample(2 * SECOND_NS, {1: (0, 4), 2: (9, 9)}), Sample(0, {1: (8, 0)})]
    assert compared(samples) == {1: Pace(0.0, 2.0)}


def test_without_valkey_the_page_shows_no_speed(run_id, reader, settings):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    arrivals.take_sample(now_ns())
    (row,) = reader.get("/ingest/").context["runs"]
    assert row["pace"] is None


def test_a_run_says_how_old_its_newest_data_was_when_it_came(run_id, reader):
    (row,) = reader.get("/ingest/").context["runs"]
    assert row["late_s"] >= 0
    assert "Data late by" in reader.get("/ingest/").content.decode()


def test_a_sender_finds_its_own_bodies_and_their_reason(run_id, reader):
    for number, token in enumerate(["a", "b", "b"]):
        body = b'{"rows":[{"step":-%d}]}' % (number + 1)
        digest([replace(envelope("metrics", body, run_id=run_id), token=token)])
    page = reader.get("/ingest/?token=b")
    senders = [(one.token, one.bodies, one.reason) for one in page.context["senders"]]
    assert senders == [("b", 2, "-3 is not a step"), ("a", 1, "-1 is not a step")]
    assert {item["row"].token for item in page.context["items"]} == {"b"}
    assert "part=body&amp;token=b" in page.content.decode()
