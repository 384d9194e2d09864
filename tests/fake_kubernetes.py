"""A small API server of Kubernetes: lists with pages, watches that go on from a version, 410."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

TOKEN = "kube-token"
KINDS = {"nodes": "Node", "pods": "Pod", "events": "Event"}


@dataclass
class FakeKubernetes:
    """objects: of each resource, by name. log: (version, resource, line of a watch). oldest: the
    first version that is still known. asked: path and query of each request. page: objects of a
    page. open_s: how long a watch stays open."""

    port: int = 0
    objects: dict[str, dict[str, Any]] = field(default_factory=lambda: {k: {} for k in KINDS})
    log: list[tuple[int, str, dict[str, Any]]] = field(default_factory=list)
    oldest: int = 0
    asked: list[str] = field(default_factory=list)
    page: int = 500
    open_s: float = 0.05
    news: threading.Condition = field(default_factory=threading.Condition)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def version(self) -> int:
        return 100 + len(self.log)

    def put(self, resource: str, name: str, way: str = "MODIFIED", **parts: Any) -> None:
        """Changes an object; whoever watches hears of it."""
        with self.news:
            version = self.version + 1
            meta = {"name": name, "resourceVersion": str(version), **parts.pop("metadata", {})}
            found = {"kind": KINDS[resource], "metadata": meta, **parts}
            self.objects[resource][name] = found
            if way == "DELETED":
                del self.objects[resource][name]
            self.log.append((version, resource, {"type": way, "object": found}))
            self.news.notify_all()

    def listed(self, resource: str, query: dict[str, list[str]]) -> dict[str, Any]:
        """A page; items do not repeat their kind."""
        start = int(query.get("continue", ["0"])[0])
        every = [{k: v for k, v in one.items() if k != "kind"}
                 for one in self.objects[resource].values()]  # fmt: skip
        items = every[start : start + self.page]
        more = str(start + self.page) if start + self.page < len(every) else ""
        meta = {"resourceVersion": str(self.version), "continue": more}
        return {"kind": f"{KINDS[resource]}List", "metadata": meta, "items": items}

    def lines(self, resource: str, query: dict[str, list[str]]) -> Iterator[bytes]:
        """What has happened since a version; an error if that is forgotten."""
        at = int(query["resourceVersion"][0])
        if at < self.oldest:
            status = {"kind": "Status", "code": 410, "message": "too old resource version"}
            yield json.dumps({"type": "ERROR", "object": status}).encode() + b"\n"
            return
        with self.news:
            found = [one for one in self.log if one[0] > at and one[1] == resource]
            if not found:
                self.news.wait(self.open_s)
                found = [one for one in self.log if one[0] > at and one[1] == resource]
            now = self.version
        yield from (json.dumps(line).encode() + b"\n" for _, _, line in found)
        mark = {"kind": KINDS[resource], "metadata": {"resourceVersion": str(now)}}
        yield json.dumps({"type": "BOOKMARK", "object": mark}).encode() + b"\n"


@contextmanager
def serving() -> Iterator[FakeKubernetes]:
    """An API server that runs."""
    cluster = FakeKubernetes()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            cluster.asked.append(self.path)
            parts = urlsplit(self.path)
            resource, query = parts.path.rpartition("/")[2], parse_qs(parts.query)
            if self.headers["Authorization"] != f"Bearer {TOKEN}":
                self._answer(401, [json.dumps({"message": "Unauthorized"}).encode()])
            elif "watch" in query:
                self._answer(200, cluster.lines(resource, query))
            else:
                self._answer(200, [json.dumps(cluster.listed(resource, query)).encode()])

        def _answer(self, status: int, parts: Any) -> None:
            self.send_response(status)
            self.end_headers()
            for part in parts:
                self.wfile.write(part)
                self.wfile.flush()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    cluster.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield cluster
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
