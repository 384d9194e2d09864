"""The real `wandb` client as a process, and a proxy that makes its connections go wrong."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.stack import Stack

BUSY = (
    b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\n"
    b"Content-Length: 0\r\nConnection: close\r\n\r\n"
)
BROKEN = b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


@dataclass(frozen=True)
class Done:
    """What a client process left behind."""

    code: int
    said: str

    @property
    def complaints(self) -> list[str]:
        """Lines that a person would be worried by."""
        words = ("warn", "error", "fail", "retry", "fatal", "traceback")
        return [line for line in self.said.splitlines() if any(w in line.lower() for w in words)]


@dataclass(frozen=True)
class Client:
    """A place where training scripts run with W&B set up as docs/ingest.md says."""

    home: Path
    key: str
    url: str

    def start(self, script: str, **env: str) -> subprocess.Popen[str]:
        """Runs the script; what it prints comes as one text."""
        return self._start([sys.executable, "-W", "ignore", "-c", script], env)

    def run(self, script: str, **env: str) -> Done:
        """Runs the script to its end."""
        return finish(self.start(script, **env))

    def sync(self, *args: str) -> Done:
        """`wandb sync` of everything below the home."""
        folders = [str(path) for path in sorted(self.home.glob("wandb/offline-run-*"))]
        return finish(self._start([sys.executable, "-m", "wandb", "sync", *args, *folders], {}))

    def _start(self, argv: list[str], env: dict[str, str]) -> subprocess.Popen[str]:
        place = {
            "WANDB_BASE_URL": self.url,
            "WANDB_API_KEY": self.key,
            "WANDB_DIR": str(self.home),
            "HOME": str(self.home),
        }
        return subprocess.Popen(
            argv,
            cwd=self.home,
            env={**os.environ, **place, **env},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )


def finish(process: subprocess.Popen[str]) -> Done:
    """Waits for the end of a client process."""
    said, _ = process.communicate(timeout=90)
    return Done(process.returncode, said)


class Proxy:
    """Passes connections on to a stack, one request each; `fault` decides about file_stream posts.

    fault(request) -> None: pass on; bytes: answer them instead; CUT: pass on, then lose the answer.
    """

    CUT = b""

    def __init__(self, stack: Stack, fault: Callable[[bytes], bytes | None]) -> None:
        self.stack, self.fault = stack, fault
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        """Takes no more connections."""
        self.listener.close()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._pass, args=(client,), daemon=True).start()

    def _pass(self, client: socket.socket) -> None:
        with client:
            request = _read_request(client)
            posted = b"/file_stream " in request.partition(b"\r\n")[0]
            answer = self.fault(request) if posted and b'"wandb-history' in request else None
            if not answer:
                stored = self._forward(request)
                answer = stored if answer is None else self.CUT
            client.sendall(answer)

    def _forward(self, request: bytes) -> bytes:
        with socket.create_connection(("127.0.0.1", self.stack.port), timeout=20) as server:
            server.sendall(request)
            answer = b""
            while piece := server.recv(1 << 16):
                answer += piece
            return answer


def _read_request(client: socket.socket) -> bytes:
    """One whole request, told to be the last of its connection."""
    head = b""
    while b"\r\n\r\n" not in head:
        piece = client.recv(1 << 16)
        if not piece:
            return head
        head += piece
    head, _, body = head.partition(b"\r\n\r\n")
    lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"connection:")]
    sizes = [int(line[15:]) for line in lines if line.lower().startswith(b"content-length:")]
    while len(body) < sum(sizes):
        body += client.recv(1 << 16)
    return b"\r\n".join([*lines, b"Connection: close"]) + b"\r\n\r\n" + body
