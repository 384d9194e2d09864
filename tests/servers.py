"""Pytest plugin: a private LASTGOOD_HOME, and real Postgres and Valkey on first use.

Loaded by `-p tests.servers` before Django's settings are read. Unit tests never start a server.
LASTGOOD_TEST_DATABASE_URL runs the suite on another Postgres (15 to 18); its user must be allowed
to create databases.
"""

from __future__ import annotations

import atexit
import fcntl
import gc
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import certifi
import pytest

# What the tests and their processes leave in TMPDIR goes with the session; pytest's own folders
# stay where they are looked for after a failure. Workers of pytest-xdist inherit the folder.
os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", tempfile.gettempdir())
_IS_FIRST = "LASTGOOD_TEST_SESSION" not in os.environ
SESSION = Path(os.environ.get("LASTGOOD_TEST_SESSION") or tempfile.mkdtemp(prefix="lastgood-test-"))
os.environ["LASTGOOD_TEST_SESSION"] = str(SESSION)
os.environ["TMPDIR"] = tempfile.tempdir = str(SESSION)

HOME = Path(tempfile.mkdtemp(prefix="home-"))
os.environ["LASTGOOD_HOME"] = str(HOME)
for _name in ("DATABASE_URL", "REDIS_URL", "PUBLIC_URL", "EVENTS_URL", "EMAIL_URL"):
    os.environ.pop(_name, None)

# Without cached bytecode each process of a test compiles a thousand files of ours (2 s of CPU; with
# torch 10 s), and each worker of pytest rewrites every test file anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# What a shell starts in the background ignores SIGINT, and so would all that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Each new client of httpx reads all authorities that there are, 30 ms of CPU; agents and tests make
# thousands. No test talks to the outside: one authority is enough, for the processes of tests too.
_END = "-----END CERTIFICATE-----\n"
_ONE = HOME / "authority.pem"
_ONE.write_text(Path(certifi.where()).read_text().partition(_END)[0] + _END)
os.environ["SSL_CERT_FILE"] = str(_ONE)


def _clear() -> None:
    """Removes the session's folder. Servers of a worker may still be writing their last words."""
    until = time.monotonic() + 10
    while SESSION.exists() and time.monotonic() < until:
        shutil.rmtree(SESSION, ignore_errors=True)
        time.sleep(0.05)


if _IS_FIRST:
    atexit.register(_clear)


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """What is collected stays to the end: looking for garbage in it cost a fifth of collecting."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@dataclass(frozen=True)
class Addresses:
    """Where the test servers listen, and whether the database there has all tables."""

    database_url: str
    redis_url: str
    has_tables: bool


_started: list[Addresses] = []
_ROOT = Path(__file__).resolve().parents[1]


def give_database(home: Path) -> None:
    """Puts a Postgres with all tables below `home`, as its first start and `migrate` would.

    They are made once in a session, in 7 s of CPU, and copied from then on.
    """
    made = SESSION / "template"
    with (SESSION / "template.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            # A folder of its own: what a killed worker began may still be written to.
            draft = Path(tempfile.mkdtemp(prefix="template-"))
            _make_template(draft)
            draft.rename(made)
    (home / "postgres").mkdir(parents=True, mode=0o700)
    parts = [str(made / "postgres" / name) for name in ("data", "password")]
    copy = ["cp", "-a", "--reflink=auto", *parts, str(home / "postgres")]
    subprocess.run(copy, check=True)


def _make_template(home: Path) -> None:
    """A first start and `migrate`; the server is stopped again."""
    from workers.embedded import Postgres

    postgres = Postgres(home, fast=True)
    env = {**os.environ, "LASTGOOD_HOME": str(home), "DATABASE_URL": postgres.start()}
    try:
        migrate = [sys.executable, "manage.py", "migrate", "--no-input", "--skip-checks"]
        subprocess.run(migrate, cwd=_ROOT, env=env, check=True, stdout=subprocess.DEVNULL)
    finally:
        postgres.stop()


def addresses() -> Addresses:
    """The session's servers, started at the first call; they end with this process."""
    if not _started:
        from workers.embedded import Postgres, Valkey

        postgres, valkey = Postgres(HOME, fast=True), Valkey(HOME, "no")
        given = os.environ.get("LASTGOOD_TEST_DATABASE_URL")
        if not given:
            give_database(HOME)
        _started.append(Addresses(given or postgres.start(), valkey.start(), not given))
        atexit.register(valkey.stop)
        atexit.register(postgres.stop)
    return _started[0]
