"""A client that behaves: the same batch id until an answer says it is durable."""

from __future__ import annotations

import threading

import httpx
import orjson

KEYS = ("train/loss", "train/grad_norm")
MOST_STEPS = 60


class Sender(threading.Thread):
    """Posts metric rows and log lines, one step a batch, until told to stop or at MOST_STEPS.

    accepted: steps whose batches were answered with 202.
    """

    def __init__(self, url: str, token: str, run: str) -> None:
        super().__init__(daemon=True)
        self.url, self.run_key = f"{url}/api/v1/runs/{run}", run
        self.headers = {"Authorization": f"Bearer {token}"}
        self.accepted: list[int] = []
        self.offset = 0
        self.halt = threading.Event()

    def run(self) -> None:
        step = 0
        with httpx.Client(headers=self.headers, timeout=5) as client:
            while not self.halt.is_set() and step < MOST_STEPS:
                line = f"2026-11-29 19:46:03.842 [INFO] [rank0] train: step {step} ok\n".encode()
                self._until_accepted(client, "metrics", f"m{step}", self._row(step))
                self._until_accepted(client, "logs", f"l{step}", self._segment(line))
                self.offset += len(line)
                self.accepted.append(step)
                step += 1

    def _until_accepted(self, client: httpx.Client, door: str, batch: str, body: bytes) -> None:
        """Sends on after `halt` too: a batch that may have been taken must be seen through."""
        for _ in range(600):
            try:
                answer = client.post(
                    f"{self.url}/{door}", content=body, headers={"X-Batch-Id": batch}
                )
            except httpx.HTTPError:
                self.halt.wait(0.1)
                continue
            if answer.status_code == 202:
                return
            assert answer.status_code in (429, 500, 502, 503), answer.text
            self.halt.wait(0.1)
        raise AssertionError(f"{batch} was never accepted")

    def _row(self, step: int) -> bytes:
        values = dict.fromkeys(KEYS, 1.0 + step)
        row = {"step": step, "time_ns": 1_795_981_200_000_000_000 + step, "values": values}
        return orjson.dumps({"attempt": 0, "rows": [row]})

    def _segment(self, line: bytes) -> bytes:
        segment = {
            "source": "r/attempt_0/0/stderr.log",
            "channel": "stderr",
            "local_rank": 0,
            "offset": self.offset,
            "bytes": len(line),
            "seen_ns": 1_795_981_200_000_000_000,
        }
        header = {"v": 1, "attempt": 0, "node": "gpu-a01", "segments": [segment]}
        return orjson.dumps(header) + b"\n" + line
