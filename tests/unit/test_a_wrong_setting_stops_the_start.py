"""config.env: a wrong value names its variable and what is allowed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from apps.core.errors import AppError
from config import env

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("read", "name", "value", "message"),
    [
        (env.text, "INGEST_ACK", "never", '"never" is not allowed; use one of always, everysec'),
        (env.integer, "PORT", "http", '"http" is not a whole number; digits only, such as 8000'),
        (env.integer, "PORT", "-1", '"-1" is not a whole number'),
        (env.integer, "PORT", "9" * 5_000, '"9999'),
        (env.integer, "KEEP_LOGS_DAYS", "36501", '"36501" is not a whole number; digits only, su'),
        (env.boolean, "DEBUG", "maybe", '"maybe" is not a switch; use 1, true, yes, on or 0'),
        (env.zone, "CLUSTER_ZONE", "Berlin", '"Berlin" is not a time zone; a name of the time'),
    ],
)
def test_the_message_says_what_is_allowed(monkeypatch, read, name, value, message):
    monkeypatch.setenv(name, value)
    with pytest.raises(AppError) as caught:
        read(name)
    assert str(caught.value).startswith(f"{name}: {message}")


@pytest.mark.parametrize(("given", "found"), [("yes", True), ("OFF", False), ("", False)])
def test_a_switch_has_many_spellings(monkeypatch, given, found):
    monkeypatch.setenv("DEBUG", given)
    assert env.boolean("DEBUG") is found


def test_unset_and_empty_mean_the_default(monkeypatch):
    monkeypatch.delenv("PORT", raising=False)
    monkeypatch.setenv("INGEST_ACK", "")
    assert (env.integer("PORT"), env.text("INGEST_ACK")) == (8000, "always")


def test_a_list_drops_blanks(monkeypatch):
    monkeypatch.setenv("ALERT_RECIPIENTS", "a@example.org, ,b@example.org,")
    assert env.items("ALERT_RECIPIENTS") == ["a@example.org", "b@example.org"]


@pytest.mark.parametrize("value", ["mail.example.org:25", "http://h:25", "smtp://", "smtp://h:x"])
def test_a_mail_server_that_is_none_is_not_taken_for_unset(monkeypatch, value):
    monkeypatch.setenv("EMAIL_URL", value)
    with pytest.raises(AppError, match=r"EMAIL_URL: .*; smtp://host:port; allowed are smtp, smtps"):
        env.address("EMAIL_URL", ("smtp", "smtps"))


def test_an_address_is_taken_apart_and_unset_is_none(monkeypatch):
    monkeypatch.setenv("EMAIL_URL", "smtps://me:pw@mail.example.org:465")
    found = env.address("EMAIL_URL", ("smtp", "smtps"))
    assert (found.scheme, found.username, found.hostname, found.port) == (
        "smtps",
        "me",
        "mail.example.org",
        465,
    )
    monkeypatch.delenv("EMAIL_URL")
    assert env.address("EMAIL_URL", ("smtp", "smtps")) is None


def test_a_secret_may_come_from_a_file(monkeypatch, tmp_path):
    (tmp_path / "key").write_text("from the file\n")
    monkeypatch.setenv("SECRET_KEY", "from the environment")
    monkeypatch.setenv("SECRET_KEY_FILE", str(tmp_path / "key"))
    assert env.text("SECRET_KEY") == "from the file"


def test_only_secrets_come_from_files(monkeypatch, tmp_path):
    monkeypatch.setenv("PORT_FILE", str(tmp_path / "absent"))
    assert env.integer("PORT") == 8000


def test_a_file_that_cannot_be_read_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("SECRET_KEY_FILE", str(tmp_path / "absent"))
    with pytest.raises(AppError, match=r"SECRET_KEY_FILE: cannot read .*absent"):
        env.text("SECRET_KEY")


def test_the_command_line_says_it_in_one_line():
    ended = subprocess.run(
        [sys.executable, "manage.py", "check"],
        cwd=ROOT,
        env={**os.environ, "INGEST_ACK": "never"},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 1
    assert ended.stderr == (
        'INGEST_ACK: "never" is not allowed; use one of always, everysec, commit\n'
    )
