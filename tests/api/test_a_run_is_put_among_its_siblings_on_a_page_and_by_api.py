"""/runs/<key>/siblings/, /api/v1/runs/<key>/siblings, and the band on the deck."""

import math

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.dashboard import alert_health
from apps.dashboard.deck import DeckAsk, deck
from apps.ingest.analyse import analyse
from apps.metrics import store
from apps.runs import store as runs
from tests.sibling_samples import STEPS, logged, losses

pytestmark = pytest.mark.django_db
PAGE, API = "/runs/young/siblings/", "/api/v1/runs/young/siblings"


@pytest.fixture
def young(valkey):
    for number, level in enumerate((0.0, 0.12)):
        logged(f"elder-{number}", losses(level, number))
    return logged("young", losses(0.05, 9)[:1_200])


@pytest.fixture
def put(client, token):
    def send(body):
        key = {"Authorization": f"Bearer {token}"}
        return client.put(API, body, content_type="application/json", headers=key)

    return send


def form(*names, total_steps=str(STEPS), version=0, **more):
    places = [str(runs.ensure_run(name)) for name in names]
    return {"ref": places, "total_steps": total_steps, "version": version, **more}


def test_what_fits_is_ticked_and_one_click_compares_with_it(operator, young):
    text = operator.get(PAGE).content.decode()
    assert text.count(" checked") == 2
    assert "nothing is chosen yet" in text
    answer = operator.post(PAGE, form("elder-0", "elder-1"))
    assert (answer.status_code, answer["Location"]) == (302, PAGE)
    analyse(young, 0, 10)

    text = operator.get(PAGE).content.decode()
    assert "inside" in text
    assert "60 <small>%</small>" in text
    assert "Final loss by its siblings" in text
    assert "Refused: nobody says how much compute this run takes" in text


def test_the_deck_draws_the_band_and_says_what_it_is(operator, young):
    run = runs.get_run("young")
    assert "sibling" not in str(deck(run, DeckAsk())["charts"]["loss"]["caption"])
    operator.post(PAGE, form("elder-0", "elder-1"))
    analyse(young, 0, 10)
    for kind in ("step", "time"):
        loss = deck(run, DeckAsk(kind=kind))["charts"]["loss"]
        low, high = [t for t in loss["figure"]["data"] if t["meta"]["role"] == "sibling"]
        assert all(a < b for a, b in zip(low["y"], high["y"], strict=True))
        assert len(low["x"]) == len(low["y"]) > 200
        assert "the band of 2 siblings at the same part of the schedule" in loss["caption"]


def test_the_api_tells_the_place_and_what_is_foretold(put, ask, young):
    assert ask("runs/young/siblings").json()["references"] == []
    body = {"version": 0, "total_steps": STEPS, "compute": 4e20, "references": [
        {"run": "elder-0", "compute": 1e20}, {"run": "elder-1", "compute": 1e20}]}  # fmt: skip
    assert put(body).status_code == 200
    analyse(young, 0, 10)
    found = ask("runs/young/siblings").json()
    final = losses(0.05, 9)[-20:].mean()
    assert found["place"]["ratio"] == 0.6
    assert abs(found["by_siblings"]["loss"] - final) < found["by_siblings"]["error"] < 0.3
    assert "runs of 3 sizes, here is 1" in found["extrapolation"]["why_not"]
    assert put(body).status_code == 409


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"total_steps": ""}, "say how many steps"),
        ({"compute": "huge"}, "is no compute"),
        ({"ref": ["99999999"]}, "no such run"),
        ({"ref": ["x:y"]}, "no such run"),
    ],
)
def test_the_page_says_what_is_wrong(operator, young, fields, told):
    answer = operator.post(PAGE, form("elder-0") | fields)
    assert (answer.status_code, store.siblings_of(young)) == (400, None)
    assert told in answer.content.decode()


def test_who_only_reads_may_look(reader, young):
    assert b"Choosing needs the scope" in reader.get(PAGE).content
    assert reader.post(PAGE, form("elder-0")).status_code == 403


def test_a_run_alone_says_so(operator, valkey):
    logged("young", losses()[:50], project="alone")
    assert b"has no other run" in operator.get(PAGE).content


def test_the_page_costs_the_same_however_many_runs_there_are(operator, young, monkeypatch):
    # What the frame of a page says of alerts is asked for every five seconds, in either call.
    monkeypatch.setattr(alert_health, "_known", [(math.inf, None)])
    operator.get(PAGE)
    with CaptureQueriesContext(connection) as few:
        operator.get(PAGE)
    for number in range(12):
        logged(f"more-{number}", losses()[:5])
    with CaptureQueriesContext(connection) as many:
        operator.get(PAGE)
    assert len(few) == len(many) < 20
