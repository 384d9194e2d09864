"""/api/v1/runs/<run>/retention"""

import pytest

from apps.accounts.services import make_token
from apps.checkpoints import deleting, retention
from apps.core.clock import now_ns
from apps.rollbacks import keeping
from apps.runs import store as runs
from tests import retention_samples

pytestmark = pytest.mark.django_db
API = "/api/v1/runs/boat/retention"


@pytest.fixture
def run():
    """Ten hourly saves of 1,000 bytes."""
    return retention_samples.run_with(now_ns(), range(100, 1_100, 100))


@pytest.fixture
def put(client, token):
    def send(body, secret=token):
        headers = {"Authorization": f"Bearer {secret}"}
        return client.put(API, body, content_type="application/json", headers=headers)

    return send


def test_a_dry_run_says_what_would_go_and_changes_nothing(put, run):
    found = put({"last": 3, "dry_run": True}).json()
    assert [one["step"] for one in found["plan"] if not one["keep"]] == list(range(700, 0, -100))
    assert found["plan"][0]["reasons"] == ["the last complete one", "one of the last 3"]
    assert (found["kept_bytes"], found["freed_bytes"]) == (3_000, 7_000)
    assert (len(found["days"]), found["free_bytes"]) == (61, None)
    assert retention.rules_of(run).changed_at_ns == 0


def test_rules_are_set_on_what_was_read(put, ask, run):
    assert put({"daily": 7, "last": 2, "reason": "disk"}).json()["changed_by"] == "test"
    assert put({"last": 1}).status_code == 409
    read = ask("runs/boat/retention").json()
    assert (read["rules"]["daily"], read["deletes"]) == (7, False)
    assert put({"last": 1, "changed_at_ns": read["changed_at_ns"]}).status_code == 200


@pytest.mark.parametrize(
    ("body", "status"),
    [({"last": -1}, 422), ({"best": 2}, 400), ({"dense_s": 60}, 400), ({"last": 10**9}, 400)],
)
def test_senseless_rules_are_refused(put, run, body, status):
    assert put(body).status_code == status
    assert put({**body, "dry_run": True}).status_code == status


def test_who_may_only_read_or_operate_switches_no_deleting_on(put, run):
    assert put({"last": 3}, make_token("reader", ["read"])).status_code == 403
    operator = make_token("operator", ["read", "operate"])
    assert put({"last": 3, "deletes": True}, operator).status_code == 403
    assert put({"last": 3, "of_project": True}, operator).status_code == 403
    assert put({"last": 3}, operator).status_code == 200


def test_a_deletion_that_waits_is_taken_back(put, send, ask, run):
    admin = make_token("admin", ["read", "operate", "admin"])
    assert put({"last": 3, "deletes": True}, admin).status_code == 200
    deleting.plan_all(keeping.guards, now_ns())
    waiting = ask("runs/boat/retention").json()["plan"][-1]
    assert (waiting["step"], waiting["deletion"]["state"]) == (100, "waiting")
    answer = send("runs/boat/retention/0/100/keep", {"reason": "the paper"})
    assert (answer.json()["state"], answer.json()["message"]) == ("taken_back", "the paper")
    assert send("runs/boat/retention/0/100/keep", {}).status_code == 409
    assert send("runs/boat/retention/0/900/keep", {}).status_code == 404
    assert "pinned by" in ask("runs/boat/retention").json()["plan"][-1]["reasons"][0]


def test_a_run_that_is_not_there_is_not_found(ask, db):
    assert ask("runs/nobody/retention").status_code == 404
    assert runs.get_run("nobody") is None
