"""Training folders that grow, and agents that follow them, for tests of the node agent."""

import threading
import time
from dataclasses import replace

from workers.tailer.agent import Agent
from workers.tailer.config import AgentConfig, Limits

QUICK = Limits(
    batch_bytes=4096,
    batch_age_s=0.02,
    poll_s=0.01,
    discover_s=0.0,
    idle_s=0.3,
    settle_s=0.05,
    line_bytes=6000,
    timeout_s=5.0,
    retry_first_s=0.01,
    retry_longest_s=0.05,
    give_up_s=1.0,
)


def config(server, tmp_path, **changes):
    base = AgentConfig(
        run="r",
        node="gpu-a01",
        url=server.url,
        token="secret",
        state_dir=tmp_path / "state",
        torchrun=(tmp_path / "logs",),
        limits=QUICK,
    )
    return replace(base, **changes)


def limits(**changes):
    return replace(QUICK, **changes)


def log_path(tmp_path, *, job="job_1", attempt=0, rank=0, name="stderr.log"):
    path = tmp_path / "logs" / job / f"attempt_{attempt}" / str(rank) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def append(path, data):
    with path.open("ab") as file:
        file.write(data)


def append_by_pieces(path, data, size):
    for at in range(0, len(data), size):
        append(path, data[at : at + size])


def lines(first, last, width=60):
    return b"".join(line(number, width) for number in range(first, last))


def line(number, width=60):
    stamp = f"2026-11-29 19:46:{number % 60:02d}.{number % 1000:03d}"
    return f"{stamp} [INFO] [rank0] step {number} {'x' * width}\n".encode()


def send_once(settings):
    """Everything there is, as `--once` does; the agent's last status."""
    return Agent(replace(settings, once=True)).run()


class Running:
    """An agent that follows in a thread, as a context manager."""

    def __init__(self, settings):
        self.agent = Agent(settings)
        self.stop = threading.Event()
        self.status = None
        self._thread = threading.Thread(target=self._run)

    def _run(self):
        self.status = self.agent.run(self.stop)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *error):
        self.stop.set()
        self._thread.join()


def wait_until(condition, timeout_s=60.0):
    """Return once `condition()` is true; its last value in the failure."""
    deadline = time.monotonic() + timeout_s
    while not (value := condition()):
        assert time.monotonic() < deadline, value
        time.sleep(0.005)
    return value
