"""Every route of the web process: who has neither session nor token is sent away."""

import re

import pytest
from django.urls import get_resolver

OPEN = ["/health/live", "/health/ready", "/health/alerts", "/ready", "/login/", "/login/boom"]
NO_PROVIDER = ["/login/oidc/", "/login/oidc/return/"]
"""Nobody has set one up: a 404 for everybody."""
FORGOTTEN = ["/sdk/otel/v1/logs", "/sdk/otel/v1/metrics"]
"""Telemetry of the wandb client: answered with nothing, not even read."""
SIGNED = ["/alerts/leave/boom/"]
"""Where the address itself is the proof; this one is not signed and a 404."""
NOTHING = ["/api/v1/"]
"""The root of the API is a 404 for everybody."""


def routes(patterns, prefix="/"):
    """All addresses below `prefix`, before their parameters are filled in."""
    for one in patterns:
        route = prefix + str(one.pattern)
        yield from routes(one.url_patterns, route) if hasattr(one, "url_patterns") else [route]


def filled(incident):
    """All addresses, of the run "boom" and its incident, which exist."""
    found = routes(get_resolver().url_patterns)
    numbered = [re.sub(r"<(int:\w+|incident_id)>", str(incident.id), route) for route in found]
    return sorted({re.sub(r"<[\w:]+>", "boom", route) for route in numbered})


def sent_away(answer):
    return answer.status_code in (401, 403, 405) or (
        answer.status_code == 302 and answer["Location"].startswith("/login/?next=")
    )


def test_there_are_routes_to_look_at(incident):
    assert len(filled(incident)) > 40
    assert "/api/v1/runs/boom" in filled(incident)


@pytest.mark.parametrize("method", ["get", "post", "put", "delete"])
def test_only_the_open_list_answers(client, incident, method):
    answers = {path: getattr(client, method)(path) for path in filled(incident)}
    inside = [path for path, answer in answers.items() if not sent_away(answer)]
    assert set(inside) <= {*OPEN, *NO_PROVIDER, *FORGOTTEN, *NOTHING, *SIGNED}


def test_a_stranger_cannot_tell_whether_a_run_exists(client, incident):
    known, unknown = (client.get(f"/api/v1/runs/{key}") for key in ("boom", "nothing"))
    assert (known.status_code, unknown.status_code) == (401, 401)
    assert known.content.replace(b"boom", b"nothing") == unknown.content
    pages = [client.get(f"/runs/{key}/") for key in ("boom", "nothing")]
    assert [page.status_code for page in pages] == [302, 302]


def test_a_page_comes_back_after_the_login(client, db):
    answer = client.get("/runs/boom/?from=1")
    assert answer["Location"] == "/login/?next=/runs/boom/%3Ffrom%3D1"


def test_a_token_opens_no_page(client, token):
    answer = client.get("/audit/", headers={"Authorization": f"Bearer {token}"})
    assert answer.status_code == 302
