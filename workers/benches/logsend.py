"""The log corpus on the wire: bodies as agents and shippers send them, and who sends them.

Every host has one sender, which sends body after body; all hosts send at once.
"""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path

import orjson
import zstandard

from apps.core.errors import AppError
from workers.benches.wandb_load import post
from workers.tailer import frames, parcels

SEGMENTS, PACKED, LINES = "segments", "packed", "lines"
DOORS = (SEGMENTS, PACKED, LINES)
BODY_BYTES = 4 << 20
PARCEL_BYTES = 3 << 20
LEVEL = 3
_RANK_FILE = "rank_"


@dataclass(frozen=True, slots=True)
class Wire:
    """What a host sends, in order. endpoint: the door. lines, raw_bytes: in all bodies.
    agent_cpu_s: what it took the agents to make the bodies, without reading files."""

    endpoint: str
    by_host: Sequence[Sequence[bytes]]
    lines: int
    raw_bytes: int
    agent_cpu_s: float = 0.0


def segments_of(corpus: Path, gpus_per_host: int, body_bytes: int = BODY_BYTES) -> Wire:
    """As our agent sends it: of every file of a host a piece, in time with the others."""
    by_host, lines, raw_bytes = [], 0, 0
    for folder in sorted((corpus / "raw").iterdir()):
        files = {path: path.read_bytes() for path in sorted(folder.iterdir())}
        lines += sum(data.count(b"\n") for data in files.values())
        size = sum(map(len, files.values()))
        raw_bytes += size
        rounds = max(1, -(-size // body_bytes))
        by_host.append(list(_rounds(folder.name, files, rounds, gpus_per_host)))
    return Wire("logs", by_host, lines, raw_bytes)


def _rounds(
    node: str, files: dict[Path, bytes], rounds: int, gpus_per_host: int
) -> Iterator[bytes]:
    """Bodies of one host; of every file the lines that end in its n-th part."""
    seen_ns, done = time.time_ns(), dict.fromkeys(files, 0)
    for number in range(1, rounds + 1):
        segments, pieces = [], []
        for path, data in files.items():
            start, end = done[path], _line_end(data, len(data) * number // rounds)
            if start < end:
                segments.append(_segment(path, start, end - start, gpus_per_host, seen_ns))
                pieces.append(data[start:end])
                done[path] = end
        if segments:
            header = orjson.dumps({"v": 1, "node": node, "segments": segments})
            yield packed(b"".join((header, b"\n", *pieces)))


def parcels_of(corpus: Path, gpus_per_host: int) -> Wire:
    """As our agent sends it once it has read and packed the lines, and what that took."""
    raw = segments_of(corpus, gpus_per_host, PARCEL_BYTES)
    began = time.process_time()
    by_host = [list(_parcels(bodies)) for bodies in raw.by_host]
    return Wire("packed", by_host, raw.lines, raw.raw_bytes, time.process_time() - began)


def _parcels(bodies: Sequence[bytes]) -> Iterator[bytes]:
    """Bodies of raw bytes of one host, read and packed."""
    carries: dict[str, bytes] = {}
    for body in bodies:
        raw = zstandard.ZstdDecompressor().decompressobj().decompress(body)
        line, _, data = raw.partition(b"\n")
        header = {"attempt": None, "time_shift_ns": 0, **orjson.loads(line)}
        ends = list(accumulate(segment["bytes"] for segment in header["segments"]))
        pieces = [data[start:end] for start, end in pairwise([0, *ends])]
        files = [segment["source"] for segment in header["segments"]]
        content = frames.Content("logs", header, pieces, data.count(b"\n"))
        read = parcels.read(content, [carries.get(file, b"") for file in files])
        carries |= zip(files, read.after, strict=True)
        yield frames.pack("", read.content or content, {}).body


def _line_end(data: bytes, at: int) -> int:
    return at if at == len(data) else data.rfind(b"\n", 0, at) + 1


def _segment(
    path: Path, offset: int, size: int, gpus_per_host: int, seen_ns: int
) -> dict[str, str | int | None]:
    rank = path.stem.removeprefix(_RANK_FILE) if path.stem.startswith(_RANK_FILE) else None
    return {
        "source": f"{path.parent.name}/{path.name}",
        "channel": "console" if rank is None else "stderr",
        "local_rank": None if rank is None else int(rank) % gpus_per_host,
        "offset": offset,
        "bytes": size,
        "seen_ns": seen_ns,
    }


def entries_of(corpus: Path) -> Wire:
    """As a shipper sends it: JSON lines in order of arrival."""
    held: dict[bytes, list[bytes]] = {}
    bodies: dict[bytes, list[bytes]] = {}
    sizes: dict[bytes, int] = {}
    lines = raw_bytes = 0
    with (corpus / "corpus.ndjson").open("rb") as source:
        for line in source:
            at = line.index(b'"host":"') + 8
            host = line[at : line.index(b'"', at)]
            held.setdefault(host, []).append(line)
            sizes[host] = sizes.get(host, 0) + len(line)
            lines, raw_bytes = lines + 1, raw_bytes + len(line)
            if sizes[host] >= BODY_BYTES:
                bodies.setdefault(host, []).append(packed(b"".join(held.pop(host))))
                sizes[host] = 0
    for host, left in held.items():
        bodies.setdefault(host, []).append(packed(b"".join(left)))
    return Wire("lines", [bodies[host] for host in sorted(bodies)], lines, raw_bytes)


def packed(body: bytes) -> bytes:
    """A body as it goes on the wire."""
    return zstandard.ZstdCompressor(level=LEVEL).compress(body)


def send(host: str, port: int, path: str, token: str, wire: Wire) -> None:
    """All bodies, every host in a thread of its own. AppError if one is not taken."""
    headers = {"Authorization": f"Bearer {token}", "Content-Encoding": "zstd"}
    failures: list[str] = []

    def sender(bodies: Sequence[bytes]) -> None:
        link = http.client.HTTPConnection(host, port, timeout=180)
        for body in bodies:
            said = post(link, path, body, headers)
            if said:
                failures.append(said)
                break
        link.close()

    threads = [threading.Thread(target=sender, args=(bodies,)) for bodies in wire.by_host]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise AppError(failures[0], where=path)
