"""/runs/<key>/planned/ and /api/v1/runs/<key>/planned."""

import pytest

from apps.dashboard.deck import DeckAsk, deck
from apps.metrics import planned
from apps.runs import store as runs

pytestmark = pytest.mark.django_db
PAGE, API = "/runs/boom/planned/", "runs/boom/planned"
FORM = {"kind": "batch_size", "from_step": "1,200", "to_step": "", "text": "1M to 2M tokens"}


def said():
    return [change.words for change in planned.planned_of(runs.ensure_run("boom"))]


def test_a_person_says_it_on_the_page_and_takes_it_back(operator, incident):
    assert b"Nobody has said" in operator.get(PAGE).content
    answer = operator.post(PAGE, FORM)
    assert (answer.status_code, answer["Location"]) == (302, PAGE)
    assert said() == ["batch size from step 1,200: 1M to 2M tokens"]
    text = operator.get(PAGE).content.decode()
    assert "1M to 2M tokens" in text
    assert operator.post(f"{PAGE}1/remove/").status_code == 302
    assert said() == []


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"from_step": ""}, "say at which step it begins"),
        ({"from_step": "soon"}, "&quot;soon&quot; is no step"),
        ({"to_step": "7"}, "the last step lies before the first"),
        ({"kind": "mood"}, "is no kind of change"),
    ],
)
def test_the_page_says_what_is_wrong_and_keeps_what_was_typed(operator, incident, fields, told):
    answer = operator.post(PAGE, FORM | fields)
    text = answer.content.decode()
    assert (answer.status_code, said()) == (400, [])
    assert told in text
    assert 'value="1M to 2M tokens"' in text


def test_who_only_reads_is_offered_no_form(reader, incident):
    assert b"needs the scope" in reader.get(PAGE).content
    assert reader.post(PAGE, FORM).status_code == 403


def test_a_launch_script_says_it_once_however_often_it_starts(ask, send, client, token, incident):
    body = {"kind": "data", "from_step": 900, "to_step": 1_500, "text": "more code"}
    first, second = send(API, body).json(), send(API, body).json()
    assert (first, first["number"], first["by"]) == (second, 1, "test")
    assert ask(API).json() == {"items": [first]}
    key = {"Authorization": f"Bearer {token}"}
    assert client.delete(f"/api/v1/{API}/1", headers=key).json() == first
    assert client.delete(f"/api/v1/{API}/2", headers=key).json()["where"] == "number"
    assert ask(API).json() == {"items": []}


def test_the_api_asks_for_the_scope_operate(send, incident):
    from apps.accounts.services import make_token

    assert send(API, {}, secret=make_token("eye", ["read"])).status_code in (403, 422)
    body = {"kind": "data", "from_step": 900}
    assert send(API, body, secret=make_token("eye", ["read"])).status_code == 403


def test_the_deck_shows_it_beside_the_curves(operator, incident):
    run = runs.get_run("boom")
    assert "Planned" not in [lane["name"] for lane in deck(run, DeckAsk())["lanes"]]
    operator.post(PAGE, FORM)
    operator.post(PAGE, FORM | {"from_step": "900", "to_step": "950"})
    (lane,) = [lane for lane in deck(run, DeckAsk())["lanes"] if lane["name"] == "Planned"]
    assert [(item["x"], item.get("x2")) for item in lane["items"]] == [(900, 950), (1_200, None)]
    assert lane["items"][0]["href"] == PAGE


def test_a_step_that_has_not_come_has_no_place_on_the_clock(operator, incident):
    operator.post(PAGE, FORM | {"from_step": "999,999"})
    operator.post(PAGE, FORM | {"from_step": "900", "to_step": "950"})
    lanes = deck(runs.get_run("boom"), DeckAsk(kind="time"))["lanes"]
    (lane,) = [lane for lane in lanes if lane["name"] == "Planned"]
    (item,) = lane["items"]
    assert item["x2"] - item["x"] == 50_000
