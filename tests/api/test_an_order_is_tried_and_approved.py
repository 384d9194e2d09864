"""Dry runs and second approvers, by API and on the pages."""

import pytest
from django.contrib.auth.models import User

from apps.rollbacks import policy_store, store
from apps.rollbacks.records import RollbackPolicy

ORDER = {"step": 900, "confirm": "900", "reason": "loss exploded", "idempotency_key": "k1"}


@pytest.fixture
def four_eyes(incident):
    policy_store.save("", RollbackPolicy(50, second_approver=True, version=2, changed_by="boss"))


def test_a_dry_run_needs_only_a_step_and_orders_nothing(send, incident):
    answer = send("runs/boom/rollback?dry_run=true", {"step": 900})
    found = answer.json()
    assert (answer.status_code, found["dry_run"], found["refused"]) == (200, True, "")
    assert found["seen"]["sight"] == "unknown"
    assert {"order", "file", "branch", "unchanged"} <= {e["what"] for e in found["effects"]}
    assert found["payload"]["step"] == 900
    assert store.orders(incident.run_id) == []


def test_a_dry_run_says_why_the_order_would_be_refused(send, incident):
    found = send("runs/boom/rollback?dry_run=true", {"step": 1050}).json()
    assert found["refused"].startswith("step 1050 is no eligible candidate")
    assert send("runs/boom/rollback?dry_run=true", {"step": 901}).status_code == 404


def test_an_order_still_needs_its_confirmation(send, incident):
    assert send("runs/boom/rollback", {"step": 900}).status_code == 422


def test_a_program_proposes_and_cannot_approve(send, incident, four_eyes):
    order = send("runs/boom/rollback", ORDER).json()
    assert order["state"] == "proposed"
    answer = send(f"runs/boom/rollback/{order['id']}/approve", {"confirm": "900"})
    assert (answer.status_code, answer.json()["where"]) == (422, "actor")


FORM = {
    "choice": "0:900", "previewed": "0:900", "reason": "loss exploded", "key": "page-1",
    "act": "order", "confirm": "900",
}  # fmt: skip


def test_the_drawer_lists_terms_offers_effects_and_what_belongs_together(operator, incident):
    text = operator.get("/runs/boom/rollback/").content.decode()
    assert "It has to lie 50 steps before the first sign: set for this project." in text
    assert 'name="pick" value="0:900"' in text
    assert "no eligible checkpoint was evaluated" in text
    assert "Weighed term by term" in text
    assert "An order to step 900 is written with your reason and an audit row." in text
    assert "its storage is looked at when you try the order or give it" in text
    assert "Optimizer moments" in text


def test_a_dry_run_on_the_page_looks_at_the_storage(operator, incident):
    page = operator.post("/runs/boom/rollback/", {**FORM, "act": "try", "confirm": ""})
    assert b"it lies under no storage root, so nobody could look at it now" in page.content
    assert store.orders(incident.run_id) == []


def test_an_offer_is_picked_by_a_button(operator, incident):
    page = operator.post("/runs/boom/rollback/", {**FORM, "act": "", "pick": "0:600"})
    assert "Roll back attempt 0 to step 600" in page.content.decode()
    assert store.orders(incident.run_id) == []


def test_two_people_give_an_order_on_its_pages(operator, incident, four_eyes):
    text = operator.get("/runs/boom/rollback/").content.decode()
    assert "Propose to roll back attempt 0 to step 900" in text
    path = operator.post("/runs/boom/rollback/", FORM)["Location"]
    own = operator.get(path).content.decode()
    assert "You proposed this order" in own
    assert "The signed order" not in own
    assert "How to start it" not in own
    operator.post(f"{path}approve/", {"confirm": "900"})
    assert store.orders(incident.run_id)[0].state == "proposed"
    operator.force_login(User.objects.create_superuser("bob", email="", password=None))
    assert "Approve RB-" in operator.get(path).content.decode()
    operator.post(f"{path}approve/", {"confirm": "90"})
    assert store.orders(incident.run_id)[0].state == "proposed"
    operator.post(f"{path}approve/", {"confirm": "900"})
    (order,) = store.orders(incident.run_id)
    assert (order.state, order.approver) == ("requested", "bob")
    assert "Approved by bob." in operator.get(path).content.decode()


def test_the_rules_are_changed_on_a_page(operator, reader, incident):
    assert b"needs the scope" in reader.get("/projects/-/rollback/").content
    assert reader.post("/projects/-/rollback/", {"how": "rule"}).status_code == 403


def test_an_administrator_changes_the_rules_on_a_page(operator, incident):
    page = "/projects/-/rollback/"
    assert b'value="50"' in operator.get(page).content
    wrong = operator.post(page, {"how": "own", "margin": "many", "version": "1"})
    assert (wrong.status_code, b"is no number of steps" in wrong.content) == (400, True)
    sent = {"how": "own", "margin": "1,000", "second": "yes", "version": "1", "reason": "audit"}
    assert operator.post(page, sent)["Location"] == page
    found = policy_store.of_project("")
    assert (found.margin_steps, found.second_approver, found.changed_by) == (1_000, True, "ada")
    assert operator.post(page, sent).status_code == 409
    operator.post(page, {"how": "rule", "margin": "7", "version": "2"})
    assert policy_store.of_project("").margin_steps is None
