"""What a signed-in caller read is not given to anybody else by a cache, nor after signing out."""

import pytest

PAGES = ["/", "/runs/boom/", "/runs/boom/logs/", "/incidents/", "/audit/", "/ingest/"]
ANSWERS = ["runs", "runs/boom", "runs/boom/series?keys=train/loss", "runs/boom/resume-point"]


@pytest.mark.parametrize("path", PAGES)
def test_pages(operator, incident, path):
    assert "no-store" in operator.get(path)["Cache-Control"]


@pytest.mark.parametrize("path", ANSWERS)
def test_answers_of_the_api(ask, incident, path):
    assert "no-cache" in ask(path)["Cache-Control"]


def test_a_refusal_sets_no_cookie_and_is_not_kept(client, db):
    answer = client.get("/api/v1/runs")
    assert "no-cache" in answer["Cache-Control"]
    assert not answer.cookies
