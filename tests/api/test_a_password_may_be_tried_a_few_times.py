"""POST /login/: bounded by name and address, the same words whoever is asked for, all audited."""

import pytest
from django.contrib.auth.models import User
from hypothesis import given
from hypothesis import strategies as st

from apps.accounts import services, store, throttle
from apps.accounts.throttle import ThrottlePolicy, place, take

SECOND = 1_000_000_000
T0 = 1_795_981_200 * SECOND
FEW = ThrottlePolicy(window_s=60, of_name=3, of_address=5)


@pytest.fixture
def site(client, db, valkey, settings):
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    User.objects.create_user("ada", password="right")
    return client


def sign_in(client, name, password, **given):
    return client.post("/login/", {"username": name, "password": password}, **given)


def tried(client, name, times, **given):
    return [sign_in(client, name, "wrong", **given).status_code for _ in range(times)]


def trail():
    return [(row.actor, row.action, row.reason) for row in reversed(store.audit_rows(100))]


def test_the_eleventh_try_waits_even_with_the_right_password(site):
    assert tried(site, "ada", 10) == [200] * 10
    answer = sign_in(site, "ada", "right")
    assert (answer.status_code, 0 < int(answer["Retry-After"]) <= 900) == (429, True)
    assert "Try again in 15 minutes" in answer.content.decode()
    assert "_auth_user_id" not in site.session


def test_nobody_learns_who_exists(site):
    known = [sign_in(site, "ada", "wrong") for _ in range(11)]
    unknown = [sign_in(site, "nobody", "wrong") for _ in range(11)]
    assert [a.status_code for a in known] == [a.status_code for a in unknown]
    assert known[-1].content == unknown[-1].content
    hide = str.maketrans({"\n": " "})
    said = [
        a.content.decode().translate(hide).split("role=")[1][:90] for a in (known[0], unknown[0])
    ]
    assert said[0] == said[1]


def test_the_name_counts_however_it_is_written(site):
    tried(site, "ada", 5)
    tried(site, "\uff21\uff24\uff21", 5)
    assert tried(site, "Ada", 1) == [429]


def test_another_address_is_not_held_up(site):
    tried(site, "ada", 10)
    assert sign_in(site, "ada", "right", REMOTE_ADDR="10.0.0.2").status_code == 302


def test_an_address_has_a_bound_over_all_names(site, monkeypatch):
    bounded = ThrottlePolicy(of_address=4)
    monkeypatch.setattr(throttle, "ThrottlePolicy", lambda: bounded)
    assert [tried(site, f"name{n}", 1)[0] for n in range(5)] == [200] * 4 + [429]


def test_the_right_password_ends_the_count(site):
    tried(site, "ada", 9)
    assert sign_in(site, "ada", "right").status_code == 302
    assert tried(site, "ada", 10) == [200] * 10


def test_each_try_is_in_the_audit_trail_without_what_was_typed(site):
    sign_in(site, "my-secret-password", "x")
    sign_in(site, "ada", "right", REMOTE_ADDR="10.0.0.2")
    assert trail() == [
        ("stranger:127.0.0.1", "login.refused", "wrong name or password"),
        ("user:ada", "login.by_password", ""),
    ]
    assert store.audit_rows(1)[0].address == "10.0.0.2"


def test_those_who_go_on_fill_no_table(site):
    tried(site, "ada", 30)
    reasons = [reason for _, _, reason in trail()]
    assert reasons == ["wrong name or password"] * 10 + ["too many tries"]


def test_a_failed_line_signs_nobody_in(site, monkeypatch):
    def fail(*args):
        raise RuntimeError("no audit")

    monkeypatch.setattr(services, "note_login", fail)
    with pytest.raises(RuntimeError):
        sign_in(site, "ada", "right")
    site.get("/login/")
    assert "_auth_user_id" not in site.session


def test_without_valkey_people_get_in(site, settings):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    assert tried(site, "ada", 12) == [200] * 12
    assert sign_in(site, "ada", "right").status_code == 302


def test_behind_a_proxy_the_last_address_it_added_counts(site, settings):
    settings.TRUSTED_PROXIES = 1
    for n in range(10):
        sign_in(site, "ada", "wrong", HTTP_X_FORWARDED_FOR=f"1.1.1.{n}, 9.9.9.9")
    assert tried(site, "ada", 1, HTTP_X_FORWARDED_FOR="1.1.1.77, 9.9.9.9") == [429]
    assert tried(site, "ada", 1, HTTP_X_FORWARDED_FOR="9.9.9.8") == [200]


def test_without_a_proxy_the_header_says_nothing(site):
    for n in range(10):
        sign_in(site, "ada", "wrong", HTTP_X_FORWARDED_FOR=f"1.1.1.{n}")
    assert tried(site, "ada", 1, HTTP_X_FORWARDED_FOR="1.1.1.77") == [429]


def test_the_window_slides(valkey):
    ask = [
        take("ada", "10.0.0.1", T0 + at * SECOND, FEW).wait_s for at in (0, 20, 40, 50, 59, 60, 61)
    ]
    assert ask == [0, 0, 0, 10, 1, 0, 19]


@pytest.mark.parametrize(
    ("address", "shared"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("", "unknown"),
        ("evil, header", "unknown"),
    ],
)
def test_where_a_try_comes_from(address, shared):
    assert place(address) == shared


@given(st.text())
def test_any_address_has_a_place(address):
    assert place(address)
