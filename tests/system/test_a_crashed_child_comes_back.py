"""A child that dies is started again; its pool dies with it; committed rows stay."""

import json
import os
import signal

import psycopg
import pytest

from tests.system.processes import child, eventually, living


@pytest.fixture
def database_url(stub):
    return json.loads((stub.home / "run" / "servers.json").read_text())["database_url"]


def test_a_killed_service_returns_and_its_orphan_is_removed(stub):
    before = [pid for pid, words in living(stub.home).items() if "stand-in web" in words]
    os.kill(min(before), signal.SIGKILL)

    stub.line(r"^web was killed by SIGKILL; starting it again in 0\.5 s$")

    eventually(lambda: not set(before) & set(living(stub.home)), 10, "parent and orphan are gone")
    eventually(lambda: child(stub.home, "stand-in web"), 10, "web is back")


def test_postgres_returns_on_its_port_with_its_rows(stub, database_url):
    with psycopg.connect(database_url) as connection:
        connection.execute("CREATE TABLE kept (id int)")
        connection.execute("INSERT INTO kept SELECT generate_series(1, 1000)")
    os.kill(child(stub.home, "bin/postgres -D"), signal.SIGKILL)

    stub.line("^postgres was killed by SIGKILL")

    connection = eventually(lambda: connect(database_url), 60, "postgres is back")
    with connection:
        assert connection.execute("SELECT count(*) FROM kept").fetchone() == (1000,)


def test_no_password_reaches_terminal_or_logs(stub, database_url):
    passwords = [(stub.home / name / "password").read_text() for name in ("postgres", "valkey")]
    written = "\n".join(stub.lines)
    written += "".join(path.read_text() for path in (stub.home / "log").iterdir())
    assert [password in written for password in passwords] == [False, False]


def connect(url):
    try:
        return psycopg.connect(url)
    except psycopg.OperationalError:
        return None
