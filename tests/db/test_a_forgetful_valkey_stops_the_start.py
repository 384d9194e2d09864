"""core.checks: the append-only file must be as strict as INGEST_ACK promises."""

import pytest

from apps.core import checks


@pytest.fixture
def fsync(valkey):
    """Sets appendfsync of the real Valkey for one test."""
    before = valkey.config_get("appendfsync")["appendfsync"]
    yield lambda value: valkey.config_set("appendfsync", value)
    valkey.config_set("appendfsync", before)


@pytest.mark.parametrize(
    ("ack", "value", "found"),
    [
        ("always", "always", []),
        ("always", "everysec", ["core.E001"]),
        ("everysec", "everysec", []),
        ("everysec", "always", []),
        ("everysec", "no", ["core.E001"]),
        ("commit", "no", []),
    ],
)
def test_the_promise_is_compared_with_the_server(settings, fsync, ack, value, found):
    settings.INGEST_ACK = ack
    fsync(value)
    assert [message.id for message in checks.appends_are_durable(None)] == found


def test_the_message_says_what_to_set(settings, fsync):
    settings.INGEST_ACK = "always"
    fsync("everysec")
    (message,) = checks.appends_are_durable(None)
    assert "appendonly=yes appendfsync=everysec" in message.msg
    assert message.hint == "set appendonly yes and appendfsync always, or INGEST_ACK=commit"


def test_a_server_that_is_away_is_only_a_warning(settings):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    assert [message.id for message in checks.appends_are_durable(None)] == ["core.W002"]


def test_without_addresses_the_first_step_is_named(settings):
    settings.DATABASE_URL = settings.REDIS_URL = ""
    messages = checks.servers_are_known(None)
    assert [message.msg.split()[0] for message in messages] == ["DATABASE_URL", "REDIS_URL"]
    assert "make up" in messages[0].hint
