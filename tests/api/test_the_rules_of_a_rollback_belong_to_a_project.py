"""GET and PUT /api/v1/projects/.../rollback-rules, and what they change."""

import pytest

from apps.accounts import store as accounts
from apps.accounts.services import make_token

RULES = "projects/-/rollback-rules"


@pytest.fixture
def put(client, token):
    admin = make_token("boss", ["read", "admin"])

    def put(secret=admin, **rules):
        key = {"Authorization": f"Bearer {secret}"}
        path = f"/api/v1/{RULES}"
        return client.put(path, rules, content_type="application/json", headers=key)

    return put


def test_the_margin_of_the_project_decides(ask, put, incident):
    before = ask(RULES).json()
    assert (before["margin_steps"], before["second_approver"], before["version"]) == (50, False, 1)
    found = ask(f"incidents/{incident.id}/candidates").json()
    assert (found["items"][0]["step"], found["margin"]["words"]) == (900, "set for this project")
    assert put(version=1, margin_steps=None, reason="as designed").json()["version"] == 2
    found = ask(f"incidents/{incident.id}/candidates").json()
    assert found["items"][0]["step"] == 750
    assert found["margin"] == {"steps": 150, "words": "one save interval of 150 steps"}
    row = accounts.audit_rows(1)[0]
    assert (row.action, row.reason) == ("rollback.policy_changed", "as designed")


def test_candidates_are_the_same_by_run_and_tell_terms_offers_and_exclusions(ask, incident):
    by_run = ask("runs/boom/candidates").json()
    assert by_run == ask(f"incidents/{incident.id}/candidates").json()
    best = by_run["items"][0]
    assert [term["name"] for term in best["terms"]][:3] == ["margin", "verification", "health"]
    assert [offer["name"] for offer in by_run["offers"]] == [
        "newest safe", "healthiest", "best evaluated",
    ]  # fmt: skip
    assert by_run["excluded"][0]["reason"] == "saved at or after the onset (step 1000)"


def test_who_looked_at_older_rules_is_told(put, incident):
    assert put(version=1, margin_steps=10).status_code == 200
    answer = put(version=1, margin_steps=20)
    assert answer.status_code == 409
    assert answer.json()["error"] == "boss changed these rules meanwhile"


@pytest.mark.parametrize("steps", [-1, 10_000_001])
def test_a_margin_has_a_range(put, incident, steps):
    answer = put(version=1, margin_steps=steps)
    assert (answer.status_code, answer.json()["where"]) == (400, "margin_steps")


def test_rules_need_the_scope_admin(ask, put, incident, token):
    assert put(token, version=1, margin_steps=10).status_code == 403
    assert ask(RULES).json()["version"] == 1
