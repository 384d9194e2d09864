"""GET /health/live and /health/ready, which nobody needs to log in for"""

import pytest
from django.db import InterfaceError, OperationalError, connection

from apps.core import database


def test_both_servers_answer(client, db, valkey):
    answer = client.get("/health/ready")
    assert (answer.status_code, answer.json()) == (
        200,
        {"ready": True, "postgres": "ok", "valkey": "ok"},
    )


def test_valkey_is_away(client, db, settings):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    answer = client.get("/health/ready")
    assert (answer.status_code, answer.json()) == (
        503,
        {"ready": False, "postgres": "ok", "valkey": "does not answer"},
    )


@pytest.mark.parametrize("error", [OperationalError, InterfaceError])
def test_postgres_is_away(client, valkey, monkeypatch, error):
    def refuse():
        raise error("connection refused")

    monkeypatch.setattr(connection, "cursor", refuse)
    answer = client.get("/health/ready")
    assert (answer.status_code, answer.json()["postgres"]) == (503, "does not answer")


def test_the_schema_is_older_than_the_code(client, db, valkey, monkeypatch):
    monkeypatch.setattr(database, "_newest_migrations", lambda: {("runs", "9999_next")})
    answer = client.get("/health/ready")
    assert answer.status_code == 503
    assert answer.json()["postgres"] == "run manage.py migrate: runs.9999_next"


def test_a_process_that_answers_lives_whatever_the_servers_do(client, settings):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    answer = client.get("/health/live")
    assert (answer.status_code, answer.json()) == (200, {"live": True})
