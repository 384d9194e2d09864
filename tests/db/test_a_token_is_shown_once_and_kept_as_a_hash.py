"""accounts.services: tokens, and `manage.py token`"""

import hashlib

import pytest
from django.core.management import CommandError, call_command

from apps.accounts import services
from apps.accounts.models import ApiToken
from apps.accounts.records import SYSTEM

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fresh_caches")]


def command(capsys, *arguments):
    call_command("token", *arguments)
    return capsys.readouterr().out


def test_the_command_prints_the_token_and_nothing_else(capsys):
    printed = command(capsys, "gpu-a01", "--scope", "read, ingest")
    actor = services.verify_token(printed.removesuffix("\n"))
    assert (actor.kind, actor.name) == ("token", "gpu-a01")
    assert actor.scopes == {"read", "ingest"}


def test_without_a_scope_it_may_read(capsys):
    assert services.verify_token(command(capsys, "x").strip()).scopes == {"read"}


def test_only_the_hash_is_kept(capsys):
    secret = command(capsys, "x").strip()
    (row,) = ApiToken.objects.values()
    assert row["digest"] == hashlib.sha256(secret.encode()).hexdigest()
    assert secret not in str(row)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["x", "--scope", "read,write"], "unknown scope write; use read, ingest, operate"),
        (["x", "--scope", ","], r"unknown scope \(none\)"),
        ([""], "a token needs a name"),
        (["x" * 201], "a token needs a name of 1-200 characters"),
        (["x", "--days", str(10**9)], "'1000000000' is no whole number from 1 to 3650"),
        (["x", "--days", "0"], "'0' is no whole number from 1 to 3650"),
        (["x", "--days", "²"], "'²' is no whole number"),
        (["x", "--limit", "--bytes-s", str(10**19)], "is no whole number from 1 to 92233720"),
        (["x", "--limit", "--requests-s", str(2**31)], "no whole number from 1 to 2147483647"),
        (["nobody", "--revoke"], 'no working token is called "nobody"'),
    ],
)
def test_what_cannot_be_is_said(arguments, message):
    with pytest.raises(CommandError, match=message):
        call_command("token", *arguments)
    assert not ApiToken.objects.exists()


def test_revoking_ends_all_tokens_of_the_name_and_no_other(capsys):
    first, second = command(capsys, "a"), command(capsys, "a")
    other = command(capsys, "b")
    assert command(capsys, "a", "--revoke") == "2 tokens revoked\n"
    found = [services.verify_token(secret.strip()) for secret in (first, second, other)]
    assert [actor and actor.name for actor in found] == [None, None, "b"]


def test_a_process_that_knows_it_notices_within_ten_seconds(monkeypatch):
    secret = services.make_token("a", ["read"])
    actor = services.verify_token(secret)
    assert services.revoke_token(actor.token_id, actor=SYSTEM)
    assert services.verify_token(secret) == actor
    later = services.time.monotonic() + services.TOKEN_CACHE_S
    monkeypatch.setattr(services.time, "monotonic", lambda: later)
    assert (services.TOKEN_CACHE_S, services.verify_token(secret)) == (10.0, None)


def test_an_unknown_token_is_nobody():
    assert services.verify_token("lg_unknown") is None
