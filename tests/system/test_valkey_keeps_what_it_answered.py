"""The embedded Valkey: append-only, synced, never evicting, with a password."""

import os
import re
import signal
import subprocess
import sys

import pytest
import redis

from tests.system.processes import eventually, living
from workers.embedded import Valkey

_CHILD = """
import sys, time
from pathlib import Path
from workers.embedded import Valkey
Valkey(Path(sys.argv[1])).start()
print("up", flush=True)
time.sleep(600)
"""


@pytest.fixture(scope="module")
def valkey(tmp_path_factory):
    running = Valkey(tmp_path_factory.mktemp("home"))
    running.start()
    yield running
    running.stop()


def test_answered_entries_survive_sigkill(valkey):
    with redis.Redis.from_url(valkey.url) as client:
        ids = [client.xadd("stream", {"n": n}) for n in range(200)]
    valkey.kill()

    valkey.start()

    with redis.Redis.from_url(valkey.url) as client:
        assert [entry for entry, _ in client.xrange("stream")] == ids


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("appendonly", "yes"),
        ("appendfsync", "always"),
        ("maxmemory-policy", "noeviction"),
        ("bind", "127.0.0.1"),
        ("save", ""),
    ],
)
def test_its_settings_are_the_safe_ones(valkey, setting, value):
    with redis.Redis.from_url(valkey.url) as client:
        assert client.config_get(setting)[setting] == value


def test_it_wants_the_password(valkey):
    url = re.sub(":[^:@]+@", ":wrong@", valkey.url)
    with redis.Redis.from_url(url) as client, pytest.raises(redis.AuthenticationError):
        client.ping()


def test_only_the_owner_can_read_its_password(valkey):
    files = [valkey._folder / "password", valkey._folder / "valkey.conf"]
    assert [oct(file.stat().st_mode & 0o777) for file in files] == ["0o600", "0o600"]


def test_it_dies_with_the_process_that_started_it(tmp_path):
    owner = subprocess.Popen(
        [sys.executable, "-c", _CHILD, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    with owner:
        assert owner.stdout.readline() == "up\n"
        os.kill(owner.pid, signal.SIGKILL)

    eventually(lambda: not living(tmp_path), 20, "Valkey is gone")
