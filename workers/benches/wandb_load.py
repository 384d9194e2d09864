"""What a `wandb` client sends and writes, made up: file_stream bodies and a `.wandb` file."""

from __future__ import annotations

import base64
import http.client
import random
import struct
import threading
import time
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import orjson

from apps.core.errors import AppError
from apps.ingest.wandb.wire import (
    BLOCK_BYTES,
    CHUNK_HEADER_BYTES,
    FIRST,
    FULL,
    HEADER,
    LAST,
    MIDDLE,
)
from workers.benches.corpus import metric_rows

POST_STEPS = 500
STEP_S = 0.4
_BUSY = {http.client.TOO_MANY_REQUESTS, http.client.SERVICE_UNAVAILABLE}


@dataclass(frozen=True, slots=True)
class Receiver:
    """Where file_stream bodies go. project: "entity/project" in the address."""

    host: str
    port: int
    project: str
    key: str

    def headers(self) -> dict[str, str]:
        """As the client sends them."""
        basic = base64.b64encode(f"api:{self.key}".encode()).decode()
        return {"Authorization": f"Basic {basic}", "Content-Type": "application/json"}


def history_lines(steps: int, keys: int, seed: int = 7) -> Iterator[str]:
    """History lines as the client writes them: every line has its keys in an order of its own."""
    chance, began_s = random.Random(seed), time.time()  # noqa: S311 - reproducible material
    for step, values in enumerate(metric_rows(steps, keys, seed)):
        at_s = step * STEP_S
        whole = {**values, "_step": step, "_runtime": at_s, "_timestamp": began_s + at_s}
        names = list(whole)
        chance.shuffle(names)
        yield orjson.dumps({name: whole[name] for name in names}).decode()


def stream_bodies(steps: int, keys: int, seed: int = 7) -> Iterator[bytes]:
    """file_stream bodies of POST_STEPS lines."""
    lines, offset = history_lines(steps, keys, seed), 0
    while piece := list(islice(lines, POST_STEPS)):
        files = {"wandb-history.jsonl": {"offset": offset, "content": piece}}
        yield orjson.dumps({"files": files})
        offset += len(piece)


def steps_of(bodies: Sequence[Sequence[bytes]]) -> int:
    """How many lines the bodies of some runs hold."""
    return sum(body.count(b"_timestamp") for one_run in bodies for body in one_run)


def post_all(to: Receiver, bodies: Sequence[Sequence[bytes]]) -> None:
    """Sends each run's bodies in order, all runs at once. AppError if a body is not taken."""
    failures: list[str] = []

    def post_run(number: int) -> None:
        path = f"/files/{to.project}/bench-{number}/file_stream"
        link = http.client.HTTPConnection(to.host, to.port, timeout=180)
        for body in bodies[number]:
            said = post(link, path, body, to.headers())
            if said:
                failures.append(said)
                break
        link.close()

    threads = [threading.Thread(target=post_run, args=(at,)) for at in range(len(bodies))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise AppError(failures[0], where=f"file_stream of port {to.port}")


def post(link: http.client.HTTPConnection, path: str, body: bytes, headers: dict[str, str]) -> str:
    """Sends a body until it is taken; "" or why not. Waits when it is told to, as the client."""
    while True:
        link.request("POST", path, body, headers)
        answer = link.getresponse()
        said = answer.read()
        if answer.status not in _BUSY:
            return "" if answer.status < 300 else f"{answer.status}: {said[:200]!r}"
        time.sleep(float(answer.headers.get("Retry-After", "1")))


def wandb_file(steps: int, keys: int, seed: int = 7) -> bytes:
    """A `.wandb` file as wandb 0.31 writes it: a step is two summary records and one of history."""
    chance = random.Random(seed)  # noqa: S311 - reproducible material
    out = bytearray(HEADER)
    runtime = _item(b"\x12\x06_wandb\x12\x07runtime", b"1")
    for step, values in enumerate(metric_rows(steps, keys, seed)):
        texts = {name: repr(value) for name, value in values.items()}
        own = {"_step": step, "_runtime": step * STEP_S, "_timestamp": 1.7e9 + step * STEP_S}
        history = texts | {name: repr(value) for name, value in own.items()}
        for field, found in ((3, texts), (2, history)):
            names = list(found)
            chance.shuffle(names)
            items = (_item(_named(name), found[name].encode()) for name in names)
            _append(out, _record(3 * step + field, field, b"".join(items)))
        _append(out, _record(3 * step + 4, 3, runtime))
    return bytes(out)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _named(name: str) -> bytes:
    return b"\x12" + _varint(len(name)) + name.encode()


def _item(key: bytes, text: bytes) -> bytes:
    inner = key + b"\x82\x01" + _varint(len(text)) + text
    return b"\x0a" + _varint(len(inner)) + inner


def _record(number: int, field: int, payload: bytes) -> bytes:
    return b"\x08" + _varint(number) + _varint(field << 3 | 2) + _varint(len(payload)) + payload


def _append(out: bytearray, data: bytes) -> None:
    """One record, cut into chunks where a block ends."""
    begun = False
    while True:
        left = BLOCK_BYTES - len(out) % BLOCK_BYTES
        if left < CHUNK_HEADER_BYTES:
            out.extend(bytes(left))
            left = BLOCK_BYTES
        piece, data = data[: left - CHUNK_HEADER_BYTES], data[left - CHUNK_HEADER_BYTES :]
        kind = (MIDDLE if data else LAST) if begun else (FIRST if data else FULL)
        out.extend(struct.pack("<IHB", zlib.crc32(bytes([kind]) + piece), len(piece), kind))
        out.extend(piece)
        begun = True
        if not data:
            return
