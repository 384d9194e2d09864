"""What checking costs: metadata of a large job in bounded memory, headers a second."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from apps.checkpoints.domain import layouts
from apps.checkpoints.domain.checking import check
from apps.checkpoints.domain.headers.base import CheckPolicy
from apps.checkpoints.domain.reading import Reader
from apps.checkpoints.domain.tree import FileStat
from apps.checkpoints.storage.listing import Bounds
from apps.checkpoints.storage.posix import PosixFolder
from apps.checkpoints.storage.process import Limits, answers
from apps.checkpoints.storage.protocol import ScanAsk, StepSeen, Target
from apps.checkpoints.storage.s3 import S3Access, S3Folder
from workers.benches import dcp_writer

GIB = 1024**3
ROOM_BYTES, LITTLE_BYTES = 2 * GIB, GIB // 2
"""What a look at a storage root may take unless told otherwise, and too little for a large job."""
_SECONDS = 900.0
_ENDS_BYTES = 22
LATENCIES_MS = (0, 20)
WORKERS = (32, 128)
_TENSORS_A_FILE = 50


def metadata(place: Path, tensors: int, ranks: int) -> dict[str, Any]:
    """A checkpoint of that many tensors and ranks, looked at by the child that looks at roots."""
    size = _write_step(place / "step-100", tensors, ranks)
    roomy, cpu_s, peak_bytes = _looked(place, ROOM_BYTES)
    tight, _, _ = _looked(place, LITTLE_BYTES)
    return {
        "metadata_bytes": size,
        "metadata_chunks": tensors * ranks,
        "metadata_level": roomy.level,
        "metadata_cpu_s": round(cpu_s, 1),
        "metadata_chunks_per_cpu_s": round(tensors * ranks / cpu_s),
        "metadata_peak_mb": round(peak_bytes / 1e6),
        "metadata_bound_mb": round(ROOM_BYTES / 1e6),
        "metadata_little_bound_mb": round(LITTLE_BYTES / 1e6),
        "metadata_little_level": tight.level,
        "metadata_little_said": "; ".join(f"{f.code} {f.message}" for f in tight.findings),
    }


def _write_step(folder: Path, tensors: int, ranks: int) -> int:
    """Shards as holes, but for the start and the end of their first and last item; bytes of the
    `.metadata`."""
    folder.mkdir(parents=True)
    with (folder / ".metadata").open("wb") as out:
        for part in dcp_writer.metadata(tensors, ranks):
            out.write(part)
    for rank in range(ranks):
        with (folder / f"__{rank}_0.distcp").open("wb") as shard:
            for item in {0, tensors - 1}:
                shard.seek(item * dcp_writer.ITEM_BYTES)
                shard.write(b"PK\x03\x04")
                shard.seek((item + 1) * dcp_writer.ITEM_BYTES - _ENDS_BYTES)
                shard.write(b"PK\x05\x06".ljust(_ENDS_BYTES, b"\0"))
    marked_ns = time.time_ns()
    os.utime(folder / ".metadata", ns=(marked_ns, marked_ns))
    return (folder / ".metadata").stat().st_size


def _looked(place: Path, memory_bytes: int) -> tuple[StepSeen, float, int]:
    """What the child said of the step, its CPU seconds, and the most memory it had."""
    ask = ScanAsk(Target("", str(place), S3Access(), 0), Bounds())
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    said = list(answers(ask, Limits(_SECONDS, memory_bytes)))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    (step,) = (one for one in said if isinstance(one, StepSeen))
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return step, cpu_s, after.ru_maxrss * 1024


def headers(place: Path, files: int) -> dict[str, Any]:
    """Safetensors headers a second: of local files by one thread, and over range reads."""
    folder = place / "step-5"
    folder.mkdir(parents=True)
    for at in range(files):
        (folder / f"model-{at:05d}.safetensors").write_bytes(_weights(at))
    tree = PosixFolder(str(place)).listing().files
    figures = dict(_measured("headers_local", tree, PosixFolder(str(place)), 1))
    for latency_ms in LATENCIES_MS:
        with _range_server(place, latency_ms) as port:
            access = S3Access(f"http://127.0.0.1:{port}", "any", "any", "any")
            for workers in WORKERS:
                name = f"headers_http_{latency_ms}_ms_{workers}_workers"
                figures |= _measured(name, tree, S3Folder("bench", "", access), workers)
    return figures


def _measured(
    name: str, tree: dict[str, FileStat] | Any, reader: Reader, workers: int
) -> Iterator[tuple[str, Any]]:
    (step,) = layouts.find(tree)
    started, before = time.perf_counter(), time.process_time()
    report = check(step, reader, policy=CheckPolicy(workers=workers))
    files = len(step.files)
    if report.findings:
        raise RuntimeError(f"{name}: {report.findings[0].message}")
    yield f"{name}_per_s", round(files / (time.perf_counter() - started))
    yield f"{name}_per_cpu_s", round(files / (time.process_time() - before))
    yield f"{name}_read_ratio", round(report.bytes_read / report.bytes_total, 4)


def _weights(at: int) -> bytes:
    """A megabyte of zeros as fifty tensors."""
    rows = 20_000 // 4
    header = {
        f"model.layers.{at}.module_{n}.weight": {
            "dtype": "F32",
            "shape": [rows],
            "data_offsets": [4 * rows * n, 4 * rows * (n + 1)],
        }
        for n in range(_TENSORS_A_FILE)
    }
    head = json.dumps(header).encode()
    return len(head).to_bytes(8, "little") + head + bytes(4 * rows * _TENSORS_A_FILE)


@contextmanager
def _range_server(place: Path, latency_ms: int) -> Iterator[int]:
    """A server of range reads in a process of its own; its port."""
    command = [sys.executable, "-m", "workers.benches.range_server", str(place), str(latency_ms)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603
    try:
        assert server.stdout is not None  # noqa: S101 - it is a pipe
        yield int(server.stdout.readline())
    finally:
        server.terminate()
        server.wait()
        if server.stdout is not None:
            server.stdout.close()
