"""A small server with the ingest doors of the contract, for tests of the node agent.

It keeps each batch id once, checks that segments and records follow each other without gap or
overlap, and plays faults: `server.faults` is a list of what the next posts meet.
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import zstandard

from apps.ingest.packed.parse import parse

DROP = "drop"  # keep the batch, then cut the connection without an answer
REFUSE_CONNECTION = "cut"  # cut the connection without keeping anything


class _Http(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """A killed agent cuts its connections: no news."""


class AgentServer:
    """Files as the server would know them: (node, source, generation) -> bytes."""

    def __init__(self):
        self.lock = threading.Lock()
        self.faults = []
        self.launches = {}
        self.launch_bodies = []
        self.launch_runs = []
        self.live = set()
        self.batches = {}
        self.dumps = []
        self.order = []
        self.answers = []
        self.max_bytes = 16 << 20
        self.reader = None
        self.resume_point = {"source": "none", "order": None, "step": None, "state": None}
        self.acknowledged = []
        handler = type("Handler", (_Handler,), {"state": self})
        self._http = _Http(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def close(self):
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def opened(self, endpoint):
        """(header, data) of each batch kept, in order of arrival."""
        for key in self.order:
            kind, raw = self.batches[key]
            if kind == endpoint:
                head, _, data = raw.partition(b"\n")
                yield json.loads(head), data

    def files(self):
        """What arrived of each log file; a gap or an overlap is an error."""
        found = {}
        for header, data in self.log_bodies():
            at = 0
            for segment in header["segments"]:
                key = (header["node"], segment["source"], segment["generation"])
                have = found.setdefault(key, bytearray())
                assert segment["offset"] == len(have), (key, segment["offset"], len(have))
                have += data[at : at + segment["bytes"]]
                at += segment["bytes"]
            assert at == len(data)
        return {key: bytes(value) for key, value in found.items()}

    def log_bodies(self):
        """(header, bytes of all segments) of each batch of log lines, packed or not."""
        for key in self.order:
            kind, raw = self.batches[key]
            head, _, data = raw.partition(b"\n")
            if kind == "packed":
                yield json.loads(head), b"".join(d for _, d in parse(raw).unread().segments)
            elif kind == "logs":
                yield json.loads(head), data

    def segments(self):
        return [
            s | {"attempt": h["attempt"]} for h, _ in self.opened("logs") for s in h["segments"]
        ]

    def records(self):
        """What arrived of each `.wandb` file, in order of record number."""
        found = {}
        for header, data in self.opened("wandb"):
            have = found.setdefault(header["file"], [])
            assert header["first_record"] == len(have), (header, len(have))
            at = 0
            for length in header["lengths"]:
                have.append(data[at : at + length])
                at += length
        return found

    def pieces(self, endpoint):
        """(file, part) -> records by number; a gap or an overlap is an error."""
        found = {}
        for header, data in self.opened(endpoint):
            have = found.setdefault((header["file"], header["part"]), {})
            at = 0
            for number, length in enumerate(header["lengths"], header["first"]):
                assert number not in have, (header["file"], number)
                have[number] = data[at : at + length]
                at += length
            assert at == len(data)
            assert list(have) == list(range(min(have), max(have) + 1))
        return found

    def events(self):
        return [(h["attempt"], e) for h, _ in self.opened("checkpoints") for e in h["events"]]


class _Handler(BaseHTTPRequestHandler):
    state = None
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def do_GET(self):
        """The resume point; long polls are answered at once."""
        etag = f'"{hash(json.dumps(self.state.resume_point))}"'
        same = self.headers.get("If-None-Match") == etag
        self.send_response(304 if same else 200)
        self.send_header("ETag", etag)
        data = b"" if same else json.dumps({"payload": self.state.resume_point}).encode()
        self.send_header("Content-Length", str(len(data)))
        if same:
            self.send_header("Retry-After", "0.05")
        self.end_headers()
        self.wfile.write(data)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with self.state.lock:
            fault = self.state.faults.pop(0) if self.state.faults else None
            status, answer = self._take(body, fault)
        self.state.answers.append(status)
        if fault in (DROP, REFUSE_CONNECTION):
            self.close_connection = True
            self.connection.close()
            return
        self._answer(status, answer, fault)

    def _take(self, body, fault):
        if fault == REFUSE_CONNECTION:
            return 0, None
        if isinstance(fault, tuple):
            return fault[0], {"error": fault[-1], "where": "body", "hint": "test"}
        if self.headers.get("Authorization") != "Bearer secret":
            return 401, {"error": "unknown token"}
        path, _, query = self.path.partition("?")
        run, endpoint, *more = path.split("/")[4:]
        if endpoint == "rollback":
            self.state.acknowledged.append((int(more[0]), json.loads(body)["launch"]))
            return 200, {}
        if endpoint == "launches":
            reader = {"reader": self.state.reader} if self.state.reader else {}
            return 200, {"run": run} | reader | self._launch(run, json.loads(body))
        if len(body) > self.state.max_bytes:
            return 413, {"error": f"{len(body)} bytes is too large"}
        batch = self.headers["X-Batch-Id"]
        raw = zstandard.ZstdDecompressor().decompress(body)
        if endpoint == "flight-recorder":
            self.state.dumps.append((run, query, raw))
        if batch not in self.state.batches:
            self.state.batches[batch] = (endpoint, raw)
            self.state.order.append(batch)
        assert self.state.batches[batch] == (endpoint, raw)
        return 202, {"batch": batch}

    def _launch(self, run, body):
        key = (body["slot"], body["launch"])
        self.state.launch_bodies.append(body)
        self.state.launch_runs.append(run)
        if body.get("unless_live") and run in self.state.live:
            return {"attempt": None, "live": True}
        slots = sum(1 for slot, _ in self.state.launches if slot == body["slot"])
        return {"attempt": self.state.launches.setdefault(key, slots)}

    def _answer(self, status, answer, fault):
        data = json.dumps(answer).encode()
        self.send_response(status)
        if isinstance(fault, tuple) and len(fault) == 3:
            self.send_header("Retry-After", str(fault[1]))
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
