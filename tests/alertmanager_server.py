"""A real Alertmanager on the loopback, from the Debian package prometheus-alertmanager."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import httpx
import yaml

from tests.stack import free_port, until

PROGRAM = "prometheus-alertmanager"


def missing() -> str:
    """Why none can run here, "" if one can."""
    return "" if shutil.which(PROGRAM) else f"no {PROGRAM} (apt-get install {PROGRAM})"


class Alertmanager:
    """One that notifies at once and looks at its groups again each second."""

    def __init__(self, home: Path, config: dict[str, object]) -> None:
        self.home, self.config, self.port = home, config, free_port()
        self._running: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Its API."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Returns when it is ready."""
        (self.home / "alertmanager.yml").write_text(yaml.safe_dump(self.config))
        argv = [
            PROGRAM, f"--config.file={self.home}/alertmanager.yml",
            f"--storage.path={self.home}/data", f"--web.listen-address=127.0.0.1:{self.port}",
            "--cluster.listen-address=",
        ]  # fmt: skip
        with (self.home / "log").open("wb") as out:
            self._running = subprocess.Popen(argv, stdout=out, stderr=out)
        until(self._is_ready, "alertmanager")

    def _is_ready(self) -> bool:
        try:
            return httpx.get(f"{self.url}/-/ready", timeout=2).status_code == 200
        except httpx.HTTPError:
            return False

    def post(self, *alerts: dict[str, object]) -> None:
        """Alerts as Prometheus sends them."""
        httpx.post(f"{self.url}/api/v2/alerts", json=list(alerts)).raise_for_status()

    def stop(self) -> None:
        """Ends it."""
        if self._running is not None:
            self._running.terminate()
            self._running.wait(timeout=20)
