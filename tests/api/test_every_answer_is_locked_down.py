"""core.http.SecurityHeaders and Django's own, on pages, JSON and errors."""

import pytest

PATHS = ["/", "/login/", "/api/v1/runs", "/api/v1/runs/nothing", "/nothing", "/health/live"]


@pytest.fixture(params=PATHS)
def answer(request, reader, valkey):
    return reader.get(request.param, headers={"Host": "localhost:8000"})


def policy(answer):
    """directive -> sources"""
    parts = [part.split() for part in answer["Content-Security-Policy"].split(";")]
    return {name: sources for name, *sources in parts}


def test_only_our_own_scripts_run_and_nobody_frames_us(answer):
    found = policy(answer)
    assert found["default-src"] == ["'self'"]
    assert "script-src" not in found and "unsafe" not in str(found)
    assert (found["object-src"], found["base-uri"], found["frame-ancestors"]) == (["'none'"],) * 3
    assert found["form-action"] == ["'self'"]


def test_browsers_guess_no_type_send_no_address_and_open_no_camera(answer):
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["X-Frame-Options"] == "DENY"
    assert answer["Referrer-Policy"] == "same-origin"
    assert "camera=()" in answer["Permissions-Policy"]


def test_the_event_stream_may_be_read(answer):
    assert policy(answer)["connect-src"] == ["'self'", "http://localhost:8001"]


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("127.0.0.1:8000", ["http://127.0.0.1:8001"]),
        ("[::1]:8000", ["http://[::1]:8001"]),
        ("[::1]", ["http://[::1]:8001"]),
        ("localhost", ["http://localhost:8001"]),
        ("a;script-src *", []),
        ("", []),
    ],
)
def test_a_forged_host_adds_nothing(client, db, host, origin):
    found = policy(client.get("/login/", headers={"Host": host}))
    assert found["connect-src"] == ["'self'", *origin]


def test_a_public_event_address_is_used_instead(client, db, settings):
    settings.EVENTS_URL = "https://events.example.org/events"
    found = policy(client.get("/login/"))
    assert found["connect-src"] == ["'self'", "https://events.example.org"]


def test_cookies_are_for_this_site_and_not_for_scripts(client, db):
    from apps.accounts.services import login_link_secret

    cookie = client.get(f"/login/{login_link_secret()}").cookies["lastgood_session"]
    assert (cookie["httponly"], cookie["samesite"]) == (True, "Lax")
