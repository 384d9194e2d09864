"""A client that behaves: the same batch id until an answer says it is durable."""

from __future__ import annotations

import threading

import httpx
import orjson

from tests.parcels import body_of, content, segment
from tests.pushes import loki_entry, loki_push, otlp_record, otlp_request, snapped
from workers.tailer import parcels

KEYS = ("train/loss", "train/grad_norm")
MOST_STEPS = 28

TAKEN = (200, 202, 204)
T0_NS = 1_795_981_200_000_000_000
SOURCES = ("r/attempt_0/0/stderr.log", "packed.log", "lines@0", "loki@0", "otlp@0")
"""What the lines of each door are stored as."""


class Sender(threading.Thread):
    """Posts metric rows and log lines, the latter by every door, one step a batch, until told to
    stop or at MOST_STEPS.

    accepted: steps whose batches were all answered as taken.
    """

    def __init__(self, url: str, token: str, run: str) -> None:
        super().__init__(daemon=True)
        self.root, self.url, self.run_key = url, f"{url}/api/v1/runs/{run}", run
        self.headers = {"Authorization": f"Bearer {token}"}
        self.accepted: list[int] = []
        self.offset, self.carry = 0, b""
        self.halt = threading.Event()

    def run(self) -> None:
        step = 0
        with httpx.Client(headers=self.headers, timeout=5) as client:
            while not self.halt.is_set() and step < MOST_STEPS:
                line = f"2026-11-29 19:46:03.842 [INFO] [rank0] train: step {step} ok\n".encode()
                self._until_accepted(client, f"{self.url}/metrics", f"m{step}", self._row(step))
                self._until_accepted(client, f"{self.url}/logs", f"l{step}", self._segment(line))
                self._until_accepted(client, f"{self.url}/packed", f"p{step}", self._parcel(line))
                self.offset += len(line)
                for door, kind, body in self._pushes(step):
                    self._until_accepted(client, door, None, body, kind)
                self.accepted.append(step)
                step += 1

    def _until_accepted(
        self,
        client: httpx.Client,
        door: str,
        batch: str | None,
        body: bytes,
        kind: str = "application/json",
    ) -> None:
        """Sends on after `halt` too: a batch that may have been taken must be seen through.

        batch None: shippers name no batch.
        """
        headers = {"Content-Type": kind, **({"X-Batch-Id": batch} if batch else {})}
        for _ in range(600):
            try:
                answer = client.post(door, content=body, headers=headers)
            except httpx.HTTPError:
                self.halt.wait(0.1)
                continue
            if answer.status_code in TAKEN:
                return
            assert answer.status_code in (429, 500, 502, 503), answer.text
            self.halt.wait(0.1)
        raise AssertionError(f"{door} never took {body[:100]!r}")

    def _pushes(self, step: int) -> list[tuple[str, str, bytes]]:
        """(address, content type, body) of a line for each door of shippers."""
        text, at_ns = f"train: step {step} ok", T0_NS + step
        line = {"ts": at_ns, "rank": 0, "host": "gpu-a01", "msg": text}
        labels = f'{{run="{self.run_key}", rank="0", host="gpu-a01"}}'
        resource = {"run": self.run_key, "rank": 0, "host.name": "gpu-a01"}
        protobuf = "application/x-protobuf"
        return [
            (f"{self.url}/lines", "application/x-ndjson", orjson.dumps(line)),
            (f"{self.root}/loki/api/v1/push", protobuf,
             snapped(loki_push((labels, [loki_entry(text, at_ns)])))),
            (f"{self.root}/v1/logs", protobuf,
             otlp_request(resource, otlp_record(text, at_ns), scope="")),
        ]  # fmt: skip

    def _row(self, step: int) -> bytes:
        values = dict.fromkeys(KEYS, 1.0 + step)
        row = {"step": step, "time_ns": T0_NS + step, "values": values}
        return orjson.dumps({"attempt": 0, "rows": [row]})

    def _segment(self, line: bytes) -> bytes:
        return body_of(content(self._piece(SOURCES[0], line)))

    def _parcel(self, line: bytes) -> bytes:
        """The same line of another file, read and packed."""
        read = parcels.read(content(self._piece(SOURCES[1], line)), [self.carry])
        (self.carry,) = read.after
        assert read.content is not None
        return body_of(read.content)

    def _piece(self, source: str, line: bytes) -> tuple[dict[str, object], bytes]:
        return segment(line, source=source, offset=self.offset, seen_ns=T0_NS), line
