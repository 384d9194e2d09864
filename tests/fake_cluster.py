"""A small Kubernetes and Argo API server: keeps objects, refuses what their published shapes do not
know, and may lose an answer after it has done what was asked."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import orjson

SHAPES = orjson.loads((Path(__file__).parent / "samples/launchers/shapes.json").read_bytes())
TOKEN = "s3cr3t-token"
_PLAIN = {"str": str, "int": int, "bool": bool, "object": dict, "list": list, "map": dict}
_OBJECT = re.compile(r"/apis/(?P<group>[^/]+)/[^/]+/namespaces/training/(?P<kind>jobs|jobsets)"
                     r"(/(?P<name>[^/]+))?")  # fmt: skip
_WORKFLOW = re.compile(r"/api/v1/workflows/training(/(?P<name>[^/]+))?(/(?P<act>stop|resubmit))?")
_NODE = re.compile(r"/api/v1/nodes/(?P<name>[^/]+)")


def faults(value: Any, shape: str, at: str = "") -> list[str]:
    """Where a value does not have a published shape."""
    if shape.startswith("list[") and isinstance(value, list):
        inner = shape[5:-1]
        return [f for i, one in enumerate(value) for f in faults(one, inner, f"{at}[{i}]")]
    if shape in _PLAIN:
        return [] if isinstance(value, _PLAIN[shape]) else [f"{at}: no {shape}"]
    if not isinstance(value, dict):
        return [f"{at}: no {shape}"]
    known = SHAPES["definitions"][shape]
    missing = [f"{at}.{name} is missing" for name in known["required"] if name not in value]
    unknown = [f"{at}.{name} is unknown" for name in value if name not in known["properties"]]
    inner = [
        fault
        for name, one in value.items()
        if name in known["properties"] and one is not None
        for fault in faults(one, known["properties"][name], f"{at}.{name}")
    ]
    return missing + unknown + inner


@dataclass
class FakeCluster:
    """objects: by kind and name. nodes: name -> cordoned. asked: "METHOD /path" of each request.
    lose: (method, word of the path) of requests that are done and never answered, once each."""

    port: int = 0
    objects: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    nodes: dict[str, bool] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    lose: list[tuple[str, str]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def answer(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        """Status and body."""
        parts = urlsplit(path)
        query = parse_qs(parts.query)
        if node := _NODE.fullmatch(parts.path):
            return self._node(node["name"], body)
        if found := _OBJECT.fullmatch(parts.path):
            shape = {"jobs": "V1Job", "jobsets": "JobSet"}[found["kind"]]
            return self._object(method, found["kind"], found["name"], shape, body, query)
        if found := _WORKFLOW.fullmatch(parts.path):
            return self._workflow(method, found["name"], found["act"], body, query)
        return 404, {"message": "no such path"}

    def _node(self, name: str, body: Any) -> tuple[int, Any]:
        if name not in self.nodes:
            return 404, {"message": f'nodes "{name}" not found'}
        if wrong := faults(body, "V1Node"):
            return 422, {"message": "; ".join(wrong)}
        self.nodes[name] = body["spec"]["unschedulable"]
        return 200, {}

    def _object(self, method, kind, name, shape, body, query) -> tuple[int, Any]:
        if method == "POST":
            return self._create(kind, body, shape, "dryRun" in query)
        if name is None:
            return 200, {"items": self._labelled(kind, query["labelSelector"][0])}
        found = self.objects.get((kind, name))
        if found is None:
            return 404, {"message": f'{kind} "{name}" not found'}
        if method == "PATCH":
            # A patch may leave out what an object must have.
            if wrong := [one for one in faults(body, shape) if "is missing" not in one]:
                return 422, {"message": "; ".join(wrong)}
            found["spec"].update(body["spec"])
            found["status"] = {"active": 0}
        return 200, found

    def _create(self, kind, body, shape, dry_run) -> tuple[int, Any]:
        name = body["metadata"]["name"]
        if wrong := faults(body, shape):
            return 422, {"message": "; ".join(wrong)}
        if (kind, name) in self.objects:
            return 409, {"message": f'{kind} "{name}" already exists'}
        if not dry_run:
            made = f"2026-11-30T00:00:{len(self.objects):02}Z"
            body["metadata"]["creationTimestamp"] = made
            self.objects[kind, name] = body
        return 201, body

    def _labelled(self, kind, selector) -> list[Any]:
        label, _, value = selector.partition("=")
        return [
            one
            for (of, _), one in self.objects.items()
            if of == kind and one["metadata"].get("labels", {}).get(label) == value
        ]

    def _workflow(self, method, name, act, body, query) -> tuple[int, Any]:
        if method == "POST":
            return self._submit(body)
        if name is None:
            items = self._labelled("workflows", query["listOptions.labelSelector"][0])
            return 200, {"items": items or None}
        found = self.objects.get(("workflows", name))
        if found is None:
            return 404, {"message": f'workflows.argoproj.io "{name}" not found'}
        if act == "stop":
            if wrong := faults(body, "WorkflowStopRequest"):
                return 400, {"message": "; ".join(wrong)}
            found["status"] = {"phase": "Failed", "message": body["message"]}
        return self._resubmit(name, found, body) if act == "resubmit" else (200, found)

    def _resubmit(self, name, found, body) -> tuple[int, Any]:
        if wrong := faults(body, "WorkflowResubmitRequest"):
            return 400, {"message": "; ".join(wrong)}
        pairs = [dict(zip(("name", "value"), p.split("=", 1), strict=True))
                 for p in body["parameters"]]  # fmt: skip
        made = {
            "metadata": {
                "name": f"{name}-{len(self.objects):05}",
                "labels": {"workflows.argoproj.io/resubmitted-from-workflow": name},
                "creationTimestamp": f"2026-11-30T00:00:{len(self.objects):02}Z",
            },
            "spec": {"arguments": {"parameters": pairs}},
            "status": {},
        }
        self.objects["workflows", made["metadata"]["name"]] = made
        return 200, made

    def _submit(self, body) -> tuple[int, Any]:
        if wrong := faults(body, "WorkflowSubmitRequest"):
            return 400, {"message": "; ".join(wrong)}
        options = body["submitOptions"]
        made = {
            "metadata": {
                "name": options["name"],
                "labels": dict(pair.split("=") for pair in options["labels"].split(",")),
                "creationTimestamp": f"2026-11-30T00:00:{len(self.objects):02}Z",
            },
            "spec": {"parameters": options["parameters"], "template": body["resourceName"]},
            "status": {},
        }
        if ("workflows", options["name"]) in self.objects:
            return 400, {"message": f'workflows "{options["name"]}" already exists'}
        if not options.get("serverDryRun"):
            self.objects["workflows", options["name"]] = made
        return 200, made


@contextmanager
def serving() -> Iterator[FakeCluster]:
    """A cluster that runs."""
    cluster = FakeCluster()

    class Handler(BaseHTTPRequestHandler):
        def _any(self) -> None:
            text = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            cluster.asked.append(f"{self.command} {self.path}")
            if self.headers["Authorization"] != f"Bearer {TOKEN}":
                status, body = 401, {"message": "Unauthorized"}
            else:
                asked = orjson.loads(text) if text else None
                status, body = cluster.answer(self.command, self.path, asked)
            for lost in cluster.lose:
                if lost[0] == self.command and lost[1] in self.path and "dryRun" not in self.path:
                    cluster.lose.remove(lost)
                    self.close_connection = True
                    return
            answer = orjson.dumps(body)
            self.send_response(status)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        do_GET = do_POST = do_PUT = do_PATCH = _any

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
