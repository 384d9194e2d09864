"""An embedded Postgres: one data folder, TCP on loopback with a password, no socket file."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

from apps.core.errors import AppError
from workers.embedded import binaries, probes, rootless, server

logger = logging.getLogger(__name__)

USER = DATABASE = "lastgood"
_MIB = 1024 * 1024
_LEAVING_S = 15.0
_NO_FSYNC = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


class Postgres(server.Embedded):
    """Postgres below `home`/postgres, made at the first start.

    fast: no fsync, which loses committed rows when the MACHINE dies; for test suites about logic
    only. Tests about faults and every real use keep it off.
    """

    name = "postgres"
    stop_signal = int(signal.SIGINT)  # fast shutdown: waits for a checkpoint, not for clients
    grace_s = 90.0

    def __init__(self, home: Path, *, fast: bool = False) -> None:
        super().__init__(home)
        self._data = self._folder / "data"
        self._fast = fast
        self._way = rootless.SELF
        self._bin = Path()
        self._unclean = False

    @property
    def url(self) -> str:
        """`postgresql://user:password@127.0.0.1:port/lastgood`; known after prepare()."""
        return f"postgresql://{USER}:{self._password()}@{server.HOST}:{self._port}/{DATABASE}"

    def prepare(self) -> None:
        """Data folder, password and port; waits for a server that is just leaving the folder.

        Keeps the port of the first call. Raises AppError if the folder is of another major
        version, belongs to somebody else, or is in use.
        """
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._bin = binaries.postgres_bin()
        if self._way == rootless.SELF:
            self._way = rootless.choose(self._bin / "postgres", self._folder)
        if self._data.exists():
            self._refuse_other_major()
            rootless.own(self._data, self._way)
        else:
            self._create()
        self._clear_pid_file()
        self._port = self._port or server.port(self._folder / "port")

    def command(self) -> list[str]:
        """argv of the server in the foreground; SIGINT reaches it when this process dies."""
        options = [f"-c{key}={value}" for key, value in self._settings().items()]
        head = rootless.launcher(self._way, death_signal=self.stop_signal)
        return [*head, str(self._bin / "postgres"), "-D", str(self._data), *options]

    def probe(self) -> str | None:
        """None when ready, else what it does: starting up, recovering, shutting down."""
        reason = probes.postgres(self._port)
        if self._unclean and reason == probes.STARTING_UP:
            return "the database is recovering from an unclean stop"
        return reason

    def _settings(self) -> dict[str, str]:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        shared = min(max(memory // 8, 32 * _MIB), 512 * _MIB) // _MIB
        return {
            "listen_addresses": server.HOST,
            "port": str(self._port),
            "unix_socket_directories": "",
            "max_connections": "100",
            "shared_buffers": f"{shared}MB",
            "effective_cache_size": f"{memory // 2 // _MIB}MB",
            "maintenance_work_mem": "64MB",
            "work_mem": "16MB",
            "wal_compression": "pglz",
            "max_wal_size": "1GB",
            "checkpoint_timeout": "15min",
            "random_page_cost": "1.1",
            "jit": "off",
            "timezone": "UTC",
            "log_timezone": "UTC",
            "log_checkpoints": "off",
            **(_NO_FSYNC if self._fast else {}),
        }

    def _create(self) -> None:
        """initdb beside the final place, then rename: a kill half-way leaves no half cluster."""
        draft = self._folder / "data.new"
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(mode=0o700)
        rootless.own(draft, self._way)
        self._password()
        self._run(
            "initdb",
            f"--pgdata={draft}",
            f"--username={USER}",
            f"--pwfile={self._folder / 'password'}",
            "--auth=scram-sha-256",
            "--encoding=UTF8",
            "--no-locale",
            *(["--no-sync"] if self._fast else []),
        )
        single = ["postgres", "--single", "-D", str(draft), "-cfsync=off", "postgres"]
        self._run(*single, text=f"CREATE DATABASE {DATABASE}\n")
        draft.rename(self._data)

    def _run(self, program: str, *arguments: str, text: str = "") -> None:
        argv = [*rootless.launcher(self._way), str(self._bin / program), *arguments]
        done = subprocess.run(  # noqa: S603 - our own argv
            argv, input=text, capture_output=True, text=True, check=False, start_new_session=True
        )
        if done.returncode != 0:
            said = (done.stdout + done.stderr).strip()
            raise AppError(f"{program} failed:\n{said}", where=str(self._folder))

    def _refuse_other_major(self) -> None:
        version = (self._data / "PG_VERSION").read_text(encoding="ascii").strip()
        major = binaries.postgres_major(self._bin)
        if version != str(major):
            raise AppError(
                f"the data is of Postgres {version}, the programs found are Postgres {major}",
                where=str(self._data),
                hint=f"dump it with pg_dumpall of version {version}, move the folder away and load "
                "the dump, or set DATABASE_URL to a server of that version",
            )

    def _clear_pid_file(self) -> None:
        """Wait for a postmaster that leaves this folder; remove the pid file of a dead one.

        Postgres itself refuses to start if the old number now belongs to any other process.
        Without /proc there is no telling, and Postgres decides alone.
        """
        pid_file = self._data / "postmaster.pid"
        self._unclean = pid_file.exists()
        if not self._unclean or not Path("/proc/self").exists():
            return
        deadline = time.monotonic() + _LEAVING_S
        while (pid := _pid_in(pid_file)) and _serves(pid, self._data):
            if time.monotonic() > deadline:
                raise AppError(
                    f"a Postgres server already runs on this folder (pid {pid})",
                    where=str(self._data),
                    hint=f"stop it with `kill -INT {pid}` or choose another LASTGOOD_HOME",
                )
            time.sleep(0.1)
        pid_file.unlink(missing_ok=True)


def _pid_in(path: Path) -> int:
    """The process id in a postmaster.pid; 0 if there is none."""
    try:
        return abs(int(path.read_text(encoding="utf-8").split("\n", 1)[0]))
    except (OSError, ValueError):
        return 0


def _serves(pid: int, folder: Path) -> bool:
    """Whether a postmaster of `folder` lives under the number `pid`.

    Its command line names the folder and everyone may read that; its working folder, which a
    server started in another way still shows, may be closed to us.
    """
    process = Path(f"/proc/{pid}")
    try:
        if f"\0{folder}\0".encode() in (process / "cmdline").read_bytes():
            return True
        return (process / "cwd").readlink() == folder
    except OSError:
        return False
