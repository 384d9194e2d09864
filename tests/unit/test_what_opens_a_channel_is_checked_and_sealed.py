"""Addresses and secrets of channels: checked when entered, encrypted when kept, never shown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.alerts.domain.access import (
    PAGERDUTY_URL,
    Access,
    checked,
    new_secret,
    shown,
    signing_key,
)
from apps.alerts.domain.routing import ChannelKind
from apps.alerts.sealing import Unreadable, seal, unseal
from apps.core.errors import AppError
from tests.channel_samples import ROUTING_KEY, SECRET

HOOK = "https://hooks.example.org/services/T0/B0/s3cr3t"
EMAIL, SLACK, WEBHOOK, NTFY, PAGERDUTY = ChannelKind


@pytest.mark.parametrize(
    ("kind", "url", "secret", "access"),
    [
        (EMAIL, " a@example.org ", "ignored", Access("a@example.org")),
        (SLACK, HOOK, "", Access(HOOK)),
        (WEBHOOK, HOOK, SECRET, Access(HOOK, SECRET)),
        (
            NTFY,
            "https://ntfy.example.org/top_ic-1",
            "",
            Access("https://ntfy.example.org/top_ic-1"),
        ),
        (PAGERDUTY, "", ROUTING_KEY, Access(PAGERDUTY_URL, ROUTING_KEY)),
    ],
)
def test_what_is_right_is_taken(kind, url, secret, access):
    assert checked(kind, url, secret) == access


@pytest.mark.parametrize(
    ("kind", "url", "secret", "where", "message"),
    [
        (EMAIL, "a@b, c@d", "", "address", "no mail address"),
        (EMAIL, "a@b\nBcc: c@d", "", "address", "no mail address"),
        (SLACK, "", "", "address", "no http or https address"),
        (SLACK, "ftp://x/y", "", "address", "no http or https address"),
        (SLACK, "file:///etc/passwd", "", "address", "no http or https address"),
        (SLACK, "https://x:99999/", "", "address", "no http or https address"),
        (SLACK, "https://x/a b", "", "address", "no http or https address"),
        (SLACK, "https://x/\r\nHost: y", "", "address", "no http or https address"),
        (SLACK, "https://user:pw@x/", "", "address", "do not belong into the address"),
        (SLACK, "https://x/" + "a" * 2_000, "", "address", "at most 2000 characters"),
        (SLACK, HOOK, "x", "secret", "no secret but its address"),
        (WEBHOOK, HOOK, "short", "secret", "whsec_"),
        (WEBHOOK, HOOK, "whsec_AAAA", "secret", "24 to 64 bytes"),
        (NTFY, "https://ntfy.example.org/", "", "address", "ends with one topic"),
        (NTFY, "https://ntfy.example.org/a/b", "", "address", "ends with one topic"),
        (NTFY, "https://ntfy.example.org/a", "tk\x00x", "secret", "ASCII"),
        (PAGERDUTY, "", "too short", "secret", "32 letters and digits"),
    ],
)
def test_what_is_wrong_is_refused_with_the_field_at_fault(kind, url, secret, where, message):
    with pytest.raises(AppError) as error:
        checked(kind, url, secret)
    assert error.value.where == where
    assert message in error.value.message


def test_a_webhook_without_a_secret_is_given_a_strong_one():
    made = checked(WEBHOOK, HOOK, "")
    assert len(signing_key(made.secret)) == 24
    assert made.secret != new_secret()


def test_only_the_server_of_an_address_is_shown():
    assert shown(SLACK, Access(HOOK)) == "https://hooks.example.org/…"
    assert shown(EMAIL, Access("a@example.org")) == "a@example.org"


def test_no_secret_is_in_the_repr():
    assert "s3cr3t" not in repr(Access(HOOK, "s3cr3t"))


@given(st.text(), st.text())
def test_what_was_sealed_is_what_comes_out(url, secret):
    access = Access(url, secret)
    assert unseal(seal(access)) == access


def test_the_database_holds_nothing_readable():
    sealed = seal(Access(HOOK, SECRET))
    assert "hooks" not in sealed
    assert seal(Access(HOOK, SECRET)) != sealed


def test_another_secret_key_opens_nothing_and_says_what_to_do(settings):
    sealed = seal(Access(HOOK, SECRET))
    settings.SECRET_KEY = "another"
    with pytest.raises(Unreadable, match="SECRET_KEY has changed"):
        unseal(sealed)
