"""An embedded Valkey: append-only file, password, loopback."""

from __future__ import annotations

import signal
from pathlib import Path

from workers.embedded import binaries, probes, rootless, server


class Valkey(server.Embedded):
    """Valkey below `home`/valkey, made at the first start.

    fsync: "always" (nothing answered is lost), "everysec" (a machine crash may cost the last
    second) or "no". Memory is never evicted: a full server refuses writes.
    """

    name = "valkey"
    stop_signal = int(signal.SIGTERM)
    grace_s = 30.0

    def __init__(self, home: Path, fsync: str = "always") -> None:
        super().__init__(home)
        self._fsync = fsync

    @property
    def url(self) -> str:
        """`redis://:password@127.0.0.1:port/0`; known after prepare()."""
        return f"redis://:{self._password()}@{server.HOST}:{self._port}/0"

    def prepare(self) -> None:
        """Folder, password, port (kept after the first call) and a 0600 configuration file."""
        (self._folder / "data").mkdir(parents=True, exist_ok=True, mode=0o700)
        self._port = self._port or server.port(self._folder / "port")
        lines = (f"{key} {value}\n" for key, value in self._settings().items())
        server.write_private(self._config, "".join(lines))

    def command(self) -> list[str]:
        """argv of the server in the foreground; SIGTERM reaches it when this process dies."""
        head = rootless.launcher(death_signal=self.stop_signal)
        return [*head, str(binaries.valkey_server()), str(self._config)]

    def probe(self) -> str | None:
        """None when ready, else what it does."""
        return probes.valkey(self._port, self._password())

    @property
    def _config(self) -> Path:
        return self._folder / "valkey.conf"

    def _settings(self) -> dict[str, str]:
        return {
            "bind": server.HOST,
            "port": str(self._port),
            "requirepass": self._password(),
            "dir": f'"{self._folder / "data"}"',
            "daemonize": "no",
            "appendonly": "yes",
            "appendfsync": self._fsync,
            "aof-load-truncated": "yes",
            # Nearly all of the file are bodies that have left the stream.
            "auto-aof-rewrite-min-size": "256mb",
            "save": '""',
            "maxmemory-policy": "noeviction",
            "maxclients": "1000",
        }
