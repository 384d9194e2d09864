"""A mail server that keeps nothing but who it heard of, and when."""

from __future__ import annotations

import socketserver
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from workers.embedded import server

_RUN = b"x-run:"


@dataclass
class Sink:
    """taken_s: run -> when its first mail was taken (time.monotonic), messages: how many came."""

    port: int = 0
    taken_s: dict[str, float] = field(default_factory=dict)
    messages: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, lines: list[bytes]) -> None:
        """One message; it counts as taken just before the server says so."""
        run = next((line for line in lines if line.lower().startswith(_RUN)), _RUN)
        with self.lock:
            self.messages += 1
            self.taken_s.setdefault(run[len(_RUN) :].strip().decode(), time.monotonic())


class _Talk(socketserver.StreamRequestHandler):
    """SMTP as far as a mail needs it (RFC 5321, appendix D.1)."""

    sink: Sink

    def handle(self) -> None:
        self._say(b"220 bench")
        for line in self.rfile:
            command = line[:4].upper()
            if command == b"DATA":
                self._say(b"354 go on")
                self.sink.take(list(iter(self.rfile.readline, b".\r\n")))
            self._say(b"221 bye" if command == b"QUIT" else b"250 ok")
            if command == b"QUIT":
                return

    def _say(self, line: bytes) -> None:
        self.wfile.write(line + b"\r\n")


@contextmanager
def listening() -> Iterator[Sink]:
    """The server, on a port of its own."""
    sink = Sink()
    talk = type("Talk", (_Talk,), {"sink": sink})
    with socketserver.ThreadingTCPServer((server.HOST, 0), talk) as tcp:
        tcp.daemon_threads = True
        sink.port = tcp.server_address[1]
        thread = threading.Thread(target=tcp.serve_forever, daemon=True)
        thread.start()
        try:
            yield sink
        finally:
            tcp.shutdown()
            thread.join()
