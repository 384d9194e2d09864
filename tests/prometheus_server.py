"""A real Prometheus on the loopback, from the Debian package prometheus, and a page to scrape."""

from __future__ import annotations

import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import yaml

from tests.stack import free_port, until

PROGRAM = "prometheus"


def missing() -> str:
    """Why none can run here, "" if one can."""
    return "" if shutil.which(PROGRAM) else f"no {PROGRAM} (apt-get install {PROGRAM})"


class Prometheus:
    """One that scrapes each second. targets: job -> address."""

    def __init__(self, home: Path, targets: dict[str, str]) -> None:
        self.home, self.port = home, free_port()
        self._jobs = [
            {"job_name": job, "static_configs": [{"targets": [address]}]}
            for job, address in targets.items()
        ]
        self._running: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Returns when it is ready."""
        times = {"scrape_interval": "1s", "scrape_timeout": "1s"}
        config = {"global": times, "scrape_configs": self._jobs}
        (self.home / "prometheus.yml").write_text(yaml.safe_dump(config))
        argv = [
            PROGRAM, f"--config.file={self.home}/prometheus.yml",
            f"--storage.tsdb.path={self.home}/data", f"--web.listen-address=127.0.0.1:{self.port}",
        ]  # fmt: skip
        with (self.home / "log").open("wb") as out:
            self._running = subprocess.Popen(argv, stdout=out, stderr=out)
        until(self._is_ready, "prometheus")

    def _is_ready(self) -> bool:
        try:
            return httpx.get(f"{self.url}/-/ready", timeout=2).status_code == 200
        except httpx.HTTPError:
            return False

    def stop(self) -> None:
        """Ends it."""
        if self._running is not None:
            self._running.terminate()
            self._running.wait(timeout=20)


class Pages:
    """path -> text of a small web server."""

    def __init__(self) -> None:
        self.text: dict[str, str] = {}
        self.port = 0


@contextmanager
def pages() -> Iterator[Pages]:
    """A web server that runs."""
    found = Pages()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            text = found.text.get(self.path.partition("?")[0])
            self.send_response(404 if text is None else 200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write((text or "not here").encode())

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    found.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
