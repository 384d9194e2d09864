"""The real `wandb` clients as processes, and a proxy that makes their connections go wrong."""

from __future__ import annotations

import fcntl
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.stack import ROOT, Stack

NEW, OLD = VERSIONS = ("0.31.0", "0.16.6")

DEADLINE_S = 180.0
HISTORY = "history"
UPLOAD = "upload"
BUSY = (
    b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\n"
    b"Content-Length: 0\r\nConnection: close\r\n\r\n"
)
UNAVAILABLE = BUSY.replace(b"429 Too Many Requests", b"503 Service Unavailable")
PATIENT = f"""
import time
from wandb.sdk.lib.sock_client import SockClient

connect = SockClient.connect

def when_it_listens(self, port):
    until = time.monotonic() + {DEADLINE_S}
    while True:
        try:
            return connect(self, port)
        except ConnectionRefusedError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)

SockClient.connect = when_it_listens
"""
"""The old client's helper writes its port down between `bind` and `listen`; the client asks there
once, and hangs when it is refused: seen on two busy cores."""
_PROGRAM = "import runpy; runpy.run_module('wandb', run_name='__main__', alter_sys=True)\n"
BROKEN = b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


def python_of(version: str) -> Path:
    """The interpreter of an environment with this client, which `make dev` or this call makes."""
    home = ROOT / ".venv-clients"
    home.mkdir(exist_ok=True)
    with (home / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        command = ["sh", "requirements/client.sh", version, sys.prefix]
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return home / version / "bin" / "python"


@dataclass(frozen=True)
class Done:
    """What a client process left behind."""

    code: int
    said: str

    @property
    def complaints(self) -> list[str]:
        """Lines that a person would be worried by."""
        words = ("warn", "error", "fail", "retry", "fatal", "traceback", "exception")
        return [line for line in self.said.splitlines() if any(w in line.lower() for w in words)]

    @property
    def worries(self) -> list[str]:
        """Complaints beyond the plain notice that a request is sent again."""
        notices = ("retrying request", "entering retry loop", "resolved after")
        return [line for line in self.complaints if not any(n in line for n in notices)]


@dataclass(frozen=True)
class Client:
    """A place where training scripts run with W&B set up as docs/wandb.md says."""

    home: Path
    key: str
    url: str
    version: str
    python: Path

    def start(self, script: str, **env: str) -> subprocess.Popen[str]:
        """Runs the script; what it prints comes as one text."""
        return self._start(["-c", PATIENT + script if self.version == OLD else script], env)

    def run(self, script: str, **env: str) -> Done:
        """Runs the script to its end."""
        return finish(self.start(script, **env))

    def start_sync(self, run: str, *args: str) -> subprocess.Popen[str]:
        """`wandb sync` of the folders that a run left offline."""
        folders = [str(path) for path in sorted(self.home.glob(f"wandb/offline-run-*-{run}"))]
        return self._start([*self._program(), "sync", *args, *folders], {})

    def start_sync_online(self) -> subprocess.Popen[str]:
        """`wandb sync` of everything below the home that was logged live."""
        folders = [str(path) for path in sorted(self.home.glob("wandb/run-*"))]
        flags = ("--include-online", "--include-synced")
        return self._start([*self._program(), "sync", *flags, *folders], {})

    def _program(self) -> list[str]:
        """`wandb` for a terminal."""
        return ["-c", PATIENT + _PROGRAM] if self.version == OLD else ["-m", "wandb"]

    def _start(self, args: list[str], env: Mapping[str, str]) -> subprocess.Popen[str]:
        place = {
            "WANDB_BASE_URL": self.url,
            "WANDB_API_KEY": self.key,
            "WANDB_DIR": str(self.home),
            "HOME": str(self.home),
            # Nothing leaves the machine: no crash reports, no question for a newer version.
            "WANDB_ERROR_REPORTING": "false",
            "WANDB__DISABLE_UPDATE_CHECK": "true",
            # Dozens of clients may start at once on two cores.
            "WANDB_INIT_TIMEOUT": str(DEADLINE_S),
            "WANDB__SERVICE_WAIT": str(DEADLINE_S),
        }
        return subprocess.Popen(
            [str(self.python), *args],
            cwd=self.home,
            env={**os.environ, **place, **env},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )


def finish(process: subprocess.Popen[str]) -> Done:
    """Waits for the end of a client process, and ends one that hangs."""
    try:
        said, _ = process.communicate(timeout=DEADLINE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        said, _ = process.communicate()
        raise AssertionError(f"ran longer than {DEADLINE_S} s: {said}") from None
    return Done(process.returncode, said)


class Proxy:
    """Passes connections on to a stack, one request each; `fault` decides about them.

    fault(proxy, kind_of(request)) -> None: pass on; bytes: answer them instead;
    CUT: pass on, then lose the answer.
    """

    CUT = b""

    def __init__(self, stack: Stack, fault: Callable[[Proxy, str], bytes | None]) -> None:
        self.stack, self.fault = stack, fault
        self._listen(0)
        self.port = self.listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def close(self) -> None:
        """Takes no more connections."""
        # Closing alone does not wake the thread that waits in accept.
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def vanish(self, seconds: float) -> None:
        """Refuses connections for a while."""
        self.close()
        threading.Timer(seconds, self._listen, [self.port]).start()

    def _listen(self, port: int) -> None:
        self.listener = socket.create_server(("127.0.0.1", port))
        threading.Thread(target=self._serve, args=(self.listener,), daemon=True).start()

    def _serve(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._pass, args=(client,), daemon=True).start()

    def _pass(self, client: socket.socket) -> None:
        with client:
            request = _read_request(client)
            answer = self.fault(self, kind_of(request))
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


def kind_of(request: bytes) -> str:
    """HISTORY for lines with steps, UPLOAD, the name of a GraphQL operation, else ""."""
    if request.startswith(b"PUT "):
        return UPLOAD
    if b"/file_stream " in request.partition(b"\r\n")[0]:
        return HISTORY if b'"wandb-history' in request else ""
    named = re.search(rb'"query":\s*"(?:\\n|\s)*(?:query|mutation) (\w+)', request)
    return named[1].decode() if named else ""


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
