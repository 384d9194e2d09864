"""Pages as a browser without JavaScript gets them."""

import re

import pytest

from apps.metrics import glances
from apps.rollbacks import services
from tests.rollback_story import asked

PAGES = [
    "/",
    "/incidents/",
    "/incidents/?state=open",
    "/incidents/{incident}/",
    "/incidents/{incident}/export.md",
    "/incidents/{incident}/export.json",
    "/runs/boom/",
    "/runs/boom/?x=time&from=1&to=2",
    "/runs/boom/head/",
    "/runs/boom/side/",
    "/runs/boom/?compare=0",
    "/runs/boom/attempts/",
    "/runs/boom/attempts/?a=0&b=9",
    "/runs/boom/logs/",
    "/runs/boom/logs/?q=level%3E%3Derror+rank:5,6+boom&attempt=0",
    "/runs/boom/logs/ranks/",
    "/runs/boom/logs/ranks/?q=rank:0-3&sort=silent",
    "/runs/boom/logs/patterns/",
    "/runs/boom/ranks/",
    "/projects/-/rank-signals/",
    "/runs/boom/logs/patterns/?show=new&level=error&rank=0-3&page=2",
    "/runs/boom/checkpoints/",
    "/runs/boom/retention/",
    "/runs/boom/retention/?preset=calendar",
    "/runs/boom/planning/",
    "/goodput/",
    "/nodes/",
    "/nodes/?state=ok&q=gpu&group=gpu-a&run=boom&after=3~-1.0~gpu",
    "/nodes/-/prepare/?host=gpu-a01",
    "/runs/boom/series/?row=loss",
    "/runs/boom/layers/",
    "/runs/boom/rollback/",
    "/runs/boom/rollback/?incident={incident}&step=750",
    "/projects/-/rollback/",
    "/projects/-/fault-classes/",
    "/projects/-/fault-classes/class/",
    "/ingest/",
    "/logs/",
    "/checkpoints/",
    "/?show=attention&project=-&after=1-2",
    "/connect/",
    "/settings/",
    "/settings/members/",
    "/settings/tokens/",
    "/settings/password/",
    "/help/",
    "/search/?q=boom",
    "/projects/",
    "/styleguide/",
    "/audit/",
    "/audit/?actor=ada&action=token.&since=2026-01-01&before=7",
    "/settings/projects/",
    "/settings/projects/-/",
    "/settings/retention/",
    "/links/",
    "/alerts/",
    "/alerts/mine/",
    "/alerts/rules/new/",
    "/alerts/channels/new/?kind=email",
    "/alerts/deliveries/?status=sent&to=a&incident=1&before=5",
]
INLINE = re.compile(rb"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", re.IGNORECASE)


@pytest.mark.parametrize("path", PAGES)
def test_the_page_answers_without_anything_inline(operator, incident, path):
    page = operator.get(path.format(incident=incident.id))
    assert page.status_code == 200
    assert not INLINE.search(page.content)
    assert b"https://" not in page.content


@pytest.mark.parametrize("path", [p for p in PAGES if "export" not in p and "head" not in p])
def test_strangers_are_sent_to_the_login_page(client, db, path):
    answer = client.get(path.format(incident=1))
    assert (answer.status_code, answer["Location"].split("?")[0]) == (302, "/login/")


@pytest.mark.parametrize("path", ["/runs/nobody/", "/incidents/9999999/", "/runs/boom/orders/77/"])
def test_what_is_not_there_is_a_plain_page(operator, incident, path):
    page = operator.get(path)
    assert page.status_code == 404
    assert b"Nothing here" in page.content


def test_an_empty_board_says_how_to_begin(operator, valkey):
    assert b"No run has sent anything yet" in operator.get("/").content


def test_the_board_shows_the_open_incident_first(operator, incident):
    glances.refresh()
    text = operator.get("/").content.decode()
    assert text.index("boom · INC-") < text.index("<table")
    assert 'class="spark"' in text


def test_the_incident_page_states_what_is_missing(operator, incident):
    text = operator.get(f"/incidents/{incident.id}/").content.decode()
    assert "Missing evidence" in text
    assert "It is not known on which hosts this attempt ran." in text


def test_the_csv_holds_every_point(operator, incident):
    answer = operator.get("/runs/boom/series/?row=loss&format=csv")
    lines = b"".join(answer.streaming_content).decode().splitlines()
    assert (lines[0], len(lines)) == ("attempt,step,time_ns,train/loss", 1251)


def test_a_reader_is_offered_no_button_and_told_why(reader, incident):
    assert b"Rollback\xe2\x80\xa6" not in reader.get("/runs/boom/").content
    page = reader.get("/runs/boom/rollback/")
    assert page.status_code == 403
    assert b"this needs the scope" in page.content


def test_an_acknowledgement_returns_to_where_it_was_given(operator, incident):
    answer = operator.post(f"/incidents/{incident.id}/acknowledge/", {"next": "/runs/boom/"})
    assert (answer.status_code, answer["Location"]) == (302, "/runs/boom/")
    assert b"acknowledged by ada" in operator.get("/runs/boom/").content


def test_an_acknowledgement_never_leaves_the_site(operator, incident):
    answer = operator.post(f"/incidents/{incident.id}/acknowledge/", {"next": "//evil.example/"})
    assert answer["Location"] == f"/incidents/{incident.id}/"


def test_a_person_resolves_an_incident(operator, incident):
    assert b">Resolve INC-" in operator.get(f"/incidents/{incident.id}/").content
    operator.post(f"/incidents/{incident.id}/resolve/", {"reason": "false alarm"})
    page = operator.get(f"/incidents/{incident.id}/").content
    assert b"resolved (manual): false alarm" in page
    assert b">Resolve INC-" not in page


def test_the_page_of_an_order_shows_how_far_it_has_come(operator, incident):
    order = services.request(asked())
    services.acknowledge(incident.run_id, order.id, "torchrun-2", asked().actor)
    text = operator.get(f"/runs/boom/orders/{order.id}/").content.decode()
    assert 'data-order-state="acknowledged"' in text
    assert "taken on by torchrun-2" in text
    assert "HMAC-SHA256" in text


def test_the_deck_of_a_run_lets_a_key_acknowledge(operator, incident):
    page = operator.get("/runs/boom/").content.decode()
    assert '<button class="btn" type="submit" data-key="a">Acknowledge</button>' in page


@pytest.mark.parametrize(
    ("path", "most"), [("/", 49), ("/runs/boom/", 92), ("/incidents/", 20), ("/alerts/", 24)]
)
def test_pages_ask_the_database_a_bounded_number_of_times(
    operator, incident, django_assert_max_num_queries, path, most
):
    with django_assert_max_num_queries(most):
        operator.get(path)
