"""A Postgres and a Valkey of the bench's own, with real fsync, and what CPU they use."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from apps.core import database
from workers.embedded import Postgres, Valkey


@dataclass(frozen=True, slots=True)
class BenchServers:
    """home: the folder of both."""

    postgres: Postgres
    valkey: Valkey
    home: Path
    database_url: str

    def restart_postgres(self) -> None:
        """A Postgres with empty caches, at the same address."""
        _close()
        self.postgres.stop()
        self.postgres.start()

    def cpu_s(self) -> float:
        """CPU seconds so far: this process and both servers with their children."""
        own = os.times()
        return own.user + own.system + self.servers_cpu_s()

    def servers_cpu_s(self) -> float:
        """CPU seconds of both servers with their children."""
        return tree_s(self.postgres.pid) + tree_s(self.valkey.pid)


def _stat(pid: int) -> tuple[int, float] | None:
    """(parent, CPU seconds incl. reaped children) of a process."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    except (OSError, IndexError):
        return None
    return int(fields[1]), sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def tree_s(root: int) -> float:
    """CPU seconds of a process and all that it started."""
    return sum(stat[1] for pid in tree(root) if (stat := _stat(pid)))


def tree(root: int) -> set[int]:
    """A process and all that it started, by id."""
    stats = {int(p.name): _stat(int(p.name)) for p in Path("/proc").iterdir() if p.name.isdigit()}
    mine, grew = {root}, True
    while grew:
        more = {pid for pid, stat in stats.items() if stat and stat[0] in mine} - mine
        mine, grew = mine | more, bool(more)
    return mine


@contextmanager
def servers() -> Iterator[BenchServers]:
    """Both servers in a temporary folder, migrated; gone afterwards."""
    from django.conf import settings
    from django.core.management import call_command

    with tempfile.TemporaryDirectory(prefix="lastgood-bench-") as folder:
        postgres, valkey = Postgres(Path(folder)), Valkey(Path(folder))
        try:
            url = postgres.start()
            database.use(url)
            settings.REDIS_URL = valkey.start()
            call_command("migrate", verbosity=0)
            yield BenchServers(postgres, valkey, Path(folder), url)
        finally:
            _close()
            valkey.stop()
            postgres.stop()


def _close() -> None:
    from django.db import connections

    connections.close_all()
