"""The embedded Postgres: as root in each way, after SIGKILL, beside a stale pid file."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from apps.core.errors import AppError
from tests.system.processes import eventually, living
from workers.embedded import Postgres, rootless

_CHILD = """
import sys, time
from pathlib import Path
from workers.embedded import Postgres
Postgres(Path(sys.argv[1])).start()
print("up", flush=True)
time.sleep(600)
"""


@pytest.fixture(scope="module")
def postgres(tmp_path_factory):
    running = Postgres(tmp_path_factory.mktemp("home"))
    running.start()
    yield running
    running.stop()


def rows(postgres, statement):
    with psycopg.connect(postgres.url) as connection:
        return connection.execute(statement).fetchall()


def write(postgres, *statements):
    with psycopg.connect(postgres.url) as connection:
        for statement in statements:
            connection.execute(statement)


def test_committed_rows_survive_sigkill(postgres):
    write(postgres, "CREATE TABLE kept (id int)", "INSERT INTO kept VALUES (1), (2)")
    said = []
    postgres.kill()

    postgres.start(said.append)

    assert rows(postgres, "SELECT count(*) FROM kept") == [(2,)]
    assert set(said) <= {
        "no answer yet",
        "the database is recovering from an unclean stop",
        "the database is shutting down",
    }


def test_it_listens_on_loopback_with_a_password_and_no_socket_file(postgres):
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(re.sub(":[^:@]+@", ":wrong@", postgres.url))
    settings = "SELECT name, setting FROM pg_settings WHERE name IN ({}) ORDER BY name"
    asked = settings.format("'fsync', 'listen_addresses', 'unix_socket_directories'")
    assert rows(postgres, asked) == [
        ("fsync", "on"),
        ("listen_addresses", "127.0.0.1"),
        ("unix_socket_directories", ""),
    ]


def test_a_second_server_on_a_living_one_is_refused(postgres, monkeypatch):
    monkeypatch.setattr("workers.embedded.postgres._LEAVING_S", 0.2)
    second = Postgres(postgres._folder.parent)

    with pytest.raises(AppError, match=f"already runs on this folder .pid {postgres.pid}."):
        second.start()


def test_a_stale_pid_file_that_names_a_stranger_does_not_block_the_start(postgres):
    postgres.stop()
    stale = postgres._data / "postmaster.pid"
    stale.write_text(f"{os.getpid()}\n{postgres._data}\n")

    postgres.start()

    assert rows(postgres, "SELECT 1") == [(1,)]


def test_data_of_another_major_version_is_refused_and_kept(postgres):
    postgres.stop()
    version = postgres._data / "PG_VERSION"
    own = version.read_text()
    version.write_text("12\n")

    with pytest.raises(AppError, match=r"data is of Postgres 12.*dump it with pg_dumpall"):
        postgres.start()

    version.write_text(own)
    postgres.start()


@pytest.fixture(params=[rootless.USER_NAMESPACE, rootless.AS_NOBODY])
def only_way(request, monkeypatch, tmp_path):
    """The one way in which root may run a server in this test."""
    works = rootless._works
    if os.geteuid() != 0:
        pytest.skip("needs root: shows how root runs Postgres")
    if not works(request.param, Path("/bin/sh"), tmp_path):
        pytest.skip(f"this machine does not allow {request.param}")
    monkeypatch.setattr(rootless, "_works", lambda way, *_: way == request.param)
    return request.param


def test_root_can_run_it_below_a_folder_only_root_may_enter(only_way, tmp_path):
    tmp_path.chmod(0o700)
    postgres = Postgres(tmp_path, fast=True)

    postgres.start()

    owner = Path(f"/proc/{postgres.pid}").stat().st_uid
    assert owner == {rootless.USER_NAMESPACE: 0, rootless.AS_NOBODY: 65534}[only_way]
    assert rows(postgres, "SELECT current_user") == [("lastgood",)]
    postgres.stop()


def test_it_dies_with_the_process_that_started_it(tmp_path):
    owner = subprocess.Popen(
        [sys.executable, "-c", _CHILD, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    with owner:
        assert owner.stdout.readline() == "up\n"
        owner.send_signal(signal.SIGKILL)

    eventually(lambda: not living(tmp_path), 20, "Postgres is gone")
