"""Other programs that take W&B data, run by an interpreter that can import them.

Nothing of them is part of Lastgood: they are started, fed and measured.
"""

from __future__ import annotations

import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import orjson

from workers.benches.processes import wait_until
from workers.benches.servers import tree_s
from workers.benches.wandb_load import Receiver, post_all, steps_of
from workers.embedded.probes import free_port
from workers.embedded.server import HOST

_TRACKIO_ROWS = """
import json, os, sys, time
def now():
    return time.process_time(), time.perf_counter()
def since(began, spent):
    return [was + end - start for was, end, start in zip(spent, now(), began)]
def bodies():
    for number, path in enumerate(sys.argv[1:]):
        for body in open(path, "rb"):
            yield f"run-{number}", json.loads(body)["files"]["wandb-history.jsonl"]["content"]
"""
_TRACKIO_STORE = """
from trackio.sqlite_storage import SQLiteStorage
spent, seen = [0.0, 0.0], set()
for run, content in bodies():
    began = now()
    rows = [json.loads(line) for line in content]
    SQLiteStorage.bulk_log("bench", run, rows, steps=[row.pop("_step") for row in rows])
    if run in seen:
        spent = since(began, spent)
    seen.add(run)
print(json.dumps(spent))
"""
"""What trackio does with a batch of lines: parse them and store them in its SQLite file."""
_TRACKIO_LOG = """
import trackio
name, spent = None, [0.0, 0.0]
for run, content in bodies():
    if run != name:
        trackio.init("bench", name=run, embed=False)
    began = now()
    for line in content:
        row = json.loads(line)
        trackio.log(row, step=row.pop("_step"))
    spent = since(began, spent) if run == name else spent
    name = run
began = now()
trackio.finish()
print(json.dumps(since(began, spent)))
"""
"""The way a training script uses trackio: one call a step, stored by a thread behind it."""


@dataclass(frozen=True, slots=True)
class PeerFigures:
    """What a peer took for the same bodies."""

    name: str
    version: str
    steps_per_cpu_s: float
    steps_per_s: float


@dataclass(frozen=True, slots=True)
class _Spent:
    cpu_s: float
    wall_s: float


def version_of(python: Path, package: str) -> str | None:
    """The version of a package that this interpreter can import; None if it cannot."""
    code = f"import {package}; from importlib.metadata import version; print(version('{package}'))"
    done = subprocess.run(  # noqa: S603 - the interpreter that was asked for
        [str(python), "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    return done.stdout.split()[-1] if done.returncode == 0 else None


def measure(pythons: Sequence[Path], bodies: Sequence[Sequence[bytes]]) -> list[PeerFigures]:
    """Each peer that one of the interpreters knows, fed with the bodies (a list per run).

    The first body of a run warms up and is not measured.
    """
    steps = steps_of([one_run[1:] for one_run in bodies])
    found = []
    for python in pythons:
        for name, spend in _PEERS:
            version = version_of(python, name.partition("_")[0])
            if version is not None:
                spent = spend(python, bodies)
                cpu_s, wall_s = max(spent.cpu_s, 0.01), max(spent.wall_s, 0.01)
                found.append(PeerFigures(name, version, steps / cpu_s, steps / wall_s))
    return found


def _openwandb_s(python: Path, bodies: Sequence[Sequence[bytes]]) -> _Spent:
    with (
        tempfile.TemporaryDirectory(prefix="lastgood-peer-") as folder,
        _openwandb(python, Path(folder)) as (pid, receiver),
    ):
        post_all(receiver, [one_run[:1] for one_run in bodies])
        before, began = tree_s(pid), time.perf_counter()
        post_all(receiver, [one_run[1:] for one_run in bodies])
        return _Spent(tree_s(pid) - before, time.perf_counter() - began)


@contextmanager
def _openwandb(python: Path, folder: Path) -> Iterator[tuple[int, Receiver]]:
    port = free_port()
    words = ("-m", "openwandb", "serve", "--host", HOST, "--port", str(port))
    env = {**os.environ, "OPENWANDB_DATA_DIR": str(folder), "OPENWANDB_DB_BACKEND": "sqlite"}
    with (folder / "log").open("wb") as out:
        child = subprocess.Popen(  # noqa: S603 - the interpreter that was asked for
            [str(python), *words], cwd=folder, env=env, stdout=out, stderr=out
        )
    try:
        wait_until(lambda: _listens(port), "openwandb", 60.0)
        yield child.pid, Receiver(HOST, port, "default/bench", "0" * 40)
    finally:
        child.kill()
        child.wait()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((HOST, port)) == 0


def _trackio_s(python: Path, bodies: Sequence[Sequence[bytes]], code: str) -> _Spent:
    with tempfile.TemporaryDirectory(prefix="lastgood-peer-") as folder:
        files = []
        for number, one_run in enumerate(bodies):
            files.append(Path(folder) / f"{number}.jsonl")
            files[-1].write_bytes(b"".join(body + b"\n" for body in one_run))
        env = {**os.environ, "TRACKIO_DIR": folder, "HF_HUB_OFFLINE": "1"}
        done = subprocess.run(  # noqa: S603 - the interpreter that was asked for
            [str(python), "-c", _TRACKIO_ROWS + code, *map(str, files)],
            env=env, capture_output=True, text=True, timeout=600, check=True,
        )  # fmt: skip
        return _Spent(*orjson.loads(done.stdout.splitlines()[-1]))


_PEERS: tuple[tuple[str, Callable[[Path, Sequence[Sequence[bytes]]], _Spent]], ...] = (
    ("openwandb", _openwandb_s),
    ("trackio_store", partial(_trackio_s, code=_TRACKIO_STORE)),
    ("trackio_log", partial(_trackio_s, code=_TRACKIO_LOG)),
)
