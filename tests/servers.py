"""Pytest plugin: a private LASTGOOD_HOME, and real Postgres and Valkey on first use.

Loaded by `-p tests.servers` before Django's settings are read. Unit tests never start a server.
LASTGOOD_TEST_DATABASE_URL runs the suite on another Postgres (15 to 18); its user must be allowed
to create databases.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import certifi

HOME = Path(tempfile.mkdtemp(prefix="lastgood-test-"))
os.environ["LASTGOOD_HOME"] = str(HOME)
for _name in ("DATABASE_URL", "REDIS_URL", "PUBLIC_URL", "EVENTS_URL", "EMAIL_URL"):
    os.environ.pop(_name, None)
atexit.register(shutil.rmtree, HOME, ignore_errors=True)

# Without cached bytecode each process of a test compiles a thousand files of ours (2 s of CPU; with
# torch 10 s), and each worker of pytest rewrites every test file anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Each new client of httpx reads all authorities that there are, 30 ms of CPU; agents and tests make
# thousands. No test talks to the outside: one authority is enough, for the processes of tests too.
_END = "-----END CERTIFICATE-----\n"
_ONE = HOME / "authority.pem"
_ONE.write_text(Path(certifi.where()).read_text().partition(_END)[0] + _END)
os.environ["SSL_CERT_FILE"] = str(_ONE)


@dataclass(frozen=True)
class Addresses:
    """Where the test servers listen."""

    database_url: str
    redis_url: str


_started: list[Addresses] = []


def addresses() -> Addresses:
    """The session's servers, started at the first call; they end with this process."""
    if not _started:
        from workers.embedded import Postgres, Valkey

        postgres, valkey = Postgres(HOME, fast=True), Valkey(HOME)
        given = os.environ.get("LASTGOOD_TEST_DATABASE_URL")
        _started.append(Addresses(given or postgres.start(), valkey.start()))
        atexit.register(valkey.stop)
        atexit.register(postgres.stop)
    return _started[0]
