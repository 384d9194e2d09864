"""An outage of the stream is when people need the pages. Signing in: see the tests of passwords."""

import pytest

PAGES = [
    "/",
    "/runs/boom/",
    "/runs/boom/head/",
    "/runs/boom/side/",
    "/runs/boom/deck.json",
    "/runs/boom/logs/",
    "/runs/boom/checkpoints/",
    "/runs/boom/series/",
    "/runs/boom/rollback/",
    "/incidents/",
    "/ingest/",
    "/ingest/?part=body",
    "/audit/",
    "/api/v1/runs",
    "/api/v1/runs/boom",
    "/api/v1/incidents",
    "/api/v1/ingest/quarantine",
]


@pytest.fixture
def away(operator, incident, settings):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    return operator


@pytest.mark.parametrize("path", PAGES)
def test_a_page(away, path):
    assert away.get(path).status_code == 200


def test_the_page_of_an_incident(away, incident):
    assert away.get(f"/incidents/{incident.id}/").status_code == 200


def test_an_incident_is_acknowledged(away, incident):
    assert away.post(f"/incidents/{incident.id}/acknowledge/").status_code == 302


def test_ingest_health_says_so(away):
    page = away.get("/ingest/").content.decode()
    assert "The stream does not answer" in page
    assert "boom" in page


def test_the_answer_for_a_run_leaves_out_what_is_not_known(away):
    found = away.get("/api/v1/runs/boom/ingest").json()
    assert (found["pending"], found["pending_bytes"], found["behind"]) == (None, None, 0)
