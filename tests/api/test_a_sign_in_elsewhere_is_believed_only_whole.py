"""The round trip to a provider: what does not fit signs nobody in, says why, and leaks nothing."""

import time
from dataclasses import replace

import jwt
import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.urls import NoReverseMatch, reverse

from apps.accounts import store, throttle
from apps.accounts.throttle import ThrottlePolicy
from tests.oidc_provider import CLIENT, SECRET, sign
from tests.oidc_trip import address_of, arrived, said, set_up

pytestmark = pytest.mark.django_db
LONG_AGO = {"iat": 1_000, "exp": 2_000}


@pytest.fixture
def trip(client, valkey, settings):
    """trip(wanted): the answer to whoever comes back from the provider; Ada is known here."""
    User.objects.create_user("ada", "ada@example.org")
    with set_up(client, settings) as going:
        yield going


def refusals():
    return [(r.object, r.reason) for r in store.audit_rows(100) if r.action == "login.refused"]


def nobody(client):
    return arrived(client) is None


@pytest.mark.parametrize(
    ("changed", "headline"),
    [
        ({"nonce": "of another sign-in"}, "The answer of Okta does not fit"),
        ({"nonce": None}, "The answer of Okta does not fit"),
        ({"aud": "another client"}, "The answer of Okta does not fit"),
        ({"aud": [CLIENT, "another"], "azp": "another"}, "The answer of Okta does not fit"),
        ({"iss": "https://evil.example"}, "The answer of Okta does not fit"),
        ({"sub": ""}, "The answer of Okta does not fit"),
        ({"sub": "1\0"}, "The answer of Okta does not fit"),
        ({"sub": "1\ud800"}, "The answer of Okta does not fit"),
        ({"sub": 1}, "The answer of Okta does not fit"),
        ({"sub": "1" * 256}, "The answer of Okta does not fit"),
        (LONG_AGO, "Two clocks differ"),
        ({"iat": 9_999_999_999, "exp": 9_999_999_999}, "Two clocks differ"),
        ({"nbf": 9_999_999_999}, "Two clocks differ"),
    ],
    ids=str,
)
def test_claims_that_are_not_for_this_sign_in(client, trip, changed, headline):
    trip.provider.changed = lambda claims: claims | changed
    answer = trip()
    assert headline in said(answer)
    assert (answer.status_code, nobody(client)) == (502, True)
    assert len(refusals()) == 1 and refusals()[0][0] == "Okta"


@pytest.mark.parametrize("missing", ["nonce", "aud", "iss", "exp", "iat", "sub"])
def test_claims_that_are_missing(client, trip, missing):
    trip.provider.changed = lambda claims: {n: v for n, v in claims.items() if n != missing}
    assert (trip().status_code, nobody(client)) == (502, True)


@pytest.mark.parametrize(
    "signed",
    [
        lambda claims: jwt.encode(claims, None, algorithm="none", headers={"kid": "one"}),
        lambda claims: jwt.encode(claims, SECRET * 3, algorithm="HS256", headers={"kid": "one"}),
        lambda claims: sign(claims, "two"),
        lambda claims: sign(claims, headers={"kid": "unknown"}),
        lambda claims: sign(claims, algorithm="PS256"),
        lambda claims: sign(claims)[:-8] + "AAAAAAAA",
        lambda claims: sign(claims).rpartition(".")[0] + ".",
        lambda claims: "no token",
        lambda claims: "",
    ],
    ids=["none", "our secret", "other key", "no such key", "PS256", "cut", "bare", "text", "empty"],
)
def test_signatures_that_are_not_the_providers(client, trip, signed):
    trip.provider.signed = signed
    assert (trip().status_code, nobody(client)) == (502, True)


def test_a_minute_between_the_clocks_is_nothing(client, trip):
    late = int(time.time()) - 30
    trip.provider.changed = lambda claims: claims | {"iat": late - 300, "exp": late}
    assert trip()["Location"] == "/"


def test_a_way_back_works_once(client, trip):
    address = trip.begin()
    codes = dict(trip.provider.codes)
    trip.finish(address)
    client.logout()
    trip.provider.codes |= codes
    answer = trip.finish(address)
    assert (answer.status_code, nobody(client)) == (400, True)
    assert "This sign-in is over" in said(answer)


def test_nobody_is_signed_in_by_the_way_back_of_somebody_else(client, trip):
    """An attacker who sends their own way back to somebody."""
    address = trip.begin()
    trip.client = type(client)()
    assert trip.finish(address).status_code == 400
    assert nobody(trip.client)


@pytest.mark.parametrize("query", ["", "?state=x", "?code=1", "?code=1&state=", "?error=x"])
def test_a_way_back_that_nobody_began_leaves_no_line(client, trip, query):
    assert client.get(f"/login/oidc/return/{query}").status_code == 400
    assert refusals() == [] and not Session.objects.exists()


def test_a_no_at_the_provider_is_said_so(client, trip):
    state = address_of(client.post("/login/oidc/")).split("state=")[1].split("&")[0]
    answer = client.get("/login/oidc/return/", {"error": "access_denied", "state": state})
    assert (answer.status_code, "Okta did not let you in" in said(answer)) == (403, True)
    assert refusals() == [("Okta", "the provider let nobody through")]


@pytest.mark.parametrize("away", ["/token", "/keys", "/userinfo"])
def test_a_provider_that_fails_on_the_way_back(client, trip, away):
    trip.provider.userinfo, trip.provider.away = {}, {away}
    del trip.provider.person["email"]
    assert trip().status_code in (502, 503)
    assert nobody(client) and len(refusals()) == 1


@pytest.mark.parametrize(
    ("path", "kind", "body"),
    [
        ("/token", "", b'{"access_token": "a", "id_token": "b"}'),
        ("/token", "application/json", b'["access_token"]'),
        ("/token", "application/json", b"7"),
        ("/keys", "application/json", b'{"keys": 7}'),
        ("/keys", "application/json", b'{"keys": [7]}'),
        ("/keys", "application/json", b'{"keys": [{"kty": "RSA", "kid": "one", "n": 7, "e": ""}]}'),
        ("/keys", "application/json", b"[]"),
    ],
)
def test_a_provider_that_answers_otherwise_than_agreed(client, trip, path, kind, body):
    trip.provider.odd = {path: (kind, body)}
    answer = trip()
    assert (answer.status_code, "does not fit" in said(answer)) == (502, True)
    assert nobody(client) and len(refusals()) == 1


def test_a_provider_that_is_away_is_said_so_and_the_page_is_kept(client, trip, settings):
    settings.OIDC = replace(settings.OIDC, issuer="http://127.0.0.1:9")
    answer = client.post("/login/oidc/", {"next": "/incidents/7/"})
    assert (answer.status_code, "Okta does not answer" in said(answer)) == (503, True)
    assert "/login/?next=/incidents/7/" in said(answer)


@pytest.mark.parametrize(
    "about",
    [
        {"issuer": "https://evil.example"},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"token_endpoint": None},
        {"jwks_uri": "file:///etc/passwd"},
        {"userinfo_endpoint": "https://elsewhere.example/"},
    ],
    ids=str,
)
def test_a_description_that_is_not_the_providers(client, trip, about):
    trip.provider.about = about
    answer = client.post("/login/oidc/")
    assert (answer.status_code, "does not fit" in said(answer)) == (502, True)


def test_the_page_of_a_mail_comes_after_it(trip):
    assert trip("/incidents/7/?from=mail")["Location"] == "/incidents/7/?from=mail"


@pytest.mark.parametrize(
    "wanted",
    [
        "https://evil.example/",
        "//evil.example/",
        "/\\evil.example",
        "javascript:alert(1)",
        "https://testserver@evil.example/",
    ],
)
def test_no_other_host_does(trip, wanted):
    assert trip(wanted)["Location"] == "/"


def test_the_provider_is_asked_with_state_nonce_and_a_challenge_and_nothing_else(client, trip):
    page = client.post("/login/oidc/?scope=offline&auth_params=prompt%3Dnone&process=connect")
    asked = dict(part.split("=") for part in address_of(page).split("?")[1].split("&"))
    assert set(asked) == {
        *("client_id", "redirect_uri", "scope", "response_type"),
        *("state", "nonce", "code_challenge", "code_challenge_method"),
    }
    assert set(asked["scope"].split("+")) == {"openid", "profile", "email"}
    assert (asked["code_challenge_method"], asked["response_type"]) == ("S256", "code")
    assert asked["redirect_uri"] == "http%3A%2F%2F127.0.0.1%3A8000%2Flogin%2Foidc%2Freturn%2F"


def test_the_policy_of_the_pages_stays_as_strict_as_it_is(client, trip):
    page = client.post("/login/oidc/")
    assert page.status_code == 200
    assert "form-action 'self';" in page["Content-Security-Policy"]
    assert "no-store" in page["Cache-Control"]


def test_it_is_begun_by_the_form_alone(client, trip):
    strict = type(client)(enforce_csrf_checks=True)
    assert strict.post("/login/oidc/").status_code == 403
    assert client.get("/login/oidc/").status_code == 405


def test_a_session_that_waits_does_not_wait_long(client, trip):
    client.post("/login/oidc/")
    assert client.session.get_expiry_age() == 600


def test_it_is_not_begun_any_number_of_times(client, trip, monkeypatch):
    monkeypatch.setattr(throttle, "ThrottlePolicy", lambda: ThrottlePolicy(trips=2))
    answers = [client.post("/login/oidc/") for _ in range(4)]
    assert [answer.status_code for answer in answers] == [200, 200, 429, 429]
    assert int(answers[2]["Retry-After"]) > 0
    assert refusals() == [("Okta", "too many tries")]
    assert client.post("/login/", {"username": "a", "password": "b"}).status_code == 200


def test_neither_secret_nor_token_is_logged(trip, caplog):
    caplog.set_level("DEBUG", logger="apps")
    trip.settings.OIDC = replace(trip.settings.OIDC, client_secret="a-wrong-secret")
    assert trip().status_code == 502
    lost = next(record for record in caplog.records if record.message == "oidc.lost")
    assert (lost.cause, lost.detail) == ("MISFIT", "invalid_client")
    assert "a-wrong-secret" not in caplog.text + repr(trip.settings.OIDC)


def test_the_page_offers_the_button_and_works_without_scripts(client, trip):
    page = said(client.get("/login/?next=/incidents/7/"))
    assert 'action="/login/oidc/"' in page and "Sign in with Okta" in page
    assert page.count('name="next" value="/incidents/7/"') == 2


def test_without_a_provider_there_is_neither_button_nor_address(client, valkey):
    assert "/login/oidc/" not in said(client.get("/login/"))
    assert client.post("/login/oidc/").status_code == 404
    assert client.get("/login/oidc/return/?code=1&state=1").status_code == 404


@pytest.mark.parametrize(
    "name", ["account_signup", "account_login", "account_email", "socialaccount_signup"]
)
def test_pages_of_allauth_are_nowhere(trip, name):
    with pytest.raises(NoReverseMatch):
        reverse(name)
