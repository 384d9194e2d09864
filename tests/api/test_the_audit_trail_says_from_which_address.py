"""Where the request of an actor came from, in the audit trail; behind proxies, what they say."""

import pytest

from apps.accounts import services, store
from apps.accounts.records import SYSTEM

AWAY, PROXY = "203.0.113.9", "10.0.0.1"


def addresses():
    return {row.action: row.address for row in store.audit_rows(50)}


@pytest.fixture
def from_away(operator, valkey):
    operator.defaults["REMOTE_ADDR"] = AWAY
    return operator


def test_of_a_page(from_away):
    from_away.post("/settings/tokens/", {"name": "gpu", "scope": "ingest", "days": ""})
    assert addresses() == {"token.created": AWAY}
    assert f"from {AWAY}" in from_away.get("/audit/").content.decode()
    assert f",{AWAY}\r\n" in from_away.get("/audit/export.csv").getvalue().decode()


def test_of_a_page_behind_a_proxy(from_away, settings):
    settings.TRUSTED_PROXIES = 1
    said = {"X-Forwarded-For": f"1.2.3.4, {PROXY}"}
    from_away.post("/settings/members/", {"name": "bob", "role": "viewer"}, headers=said)
    assert set(addresses().values()) == {PROXY}


def test_of_a_program_whatever_it_asked_from_before(client, token):
    for project, address in (("a", PROXY), ("b", AWAY)):
        answer = client.put(
            f"/api/v1/projects/{project}/log-retention",
            {"days": 30, "reason": address},
            content_type="application/json",
            headers={"Authorization": f"Bearer {token}"},
            REMOTE_ADDR=address,
        )
        assert answer.status_code == 200, answer.content
    kept = [(row.reason, row.address) for row in store.audit_rows(2)]
    assert kept == [(AWAY, AWAY), (PROXY, PROXY)]


def test_of_a_login_link_and_of_what_no_request_asked_for(client, db):
    secret = services.login_link_secret()
    client.get(f"/login/{secret}", REMOTE_ADDR=AWAY)
    assert addresses() == {"login_link.created": "", "login.by_link": AWAY}


def test_an_entry_of_before_addresses_shows_none(reader):
    services.audit(SYSTEM, "act", "x")
    assert ">from " not in reader.get("/audit/").content.decode()
