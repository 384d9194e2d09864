"""One start of the program over files of every kind: each byte arrives, each line is understood."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import orjson
import pytest

from apps.core.records import Severity
from apps.logs.domain.reading.lines import ParsePolicy, SegmentMeta, parse_segment
from tests.agent_server import AgentServer

ROOT = Path(__file__).parents[3]
CASES = ROOT / "tests/samples/logs/cases"
POD = "pods/train_gpt-worker-0_0a1b2c3d-0000-4000-8000-123456789abc/pytorch/0.log"
STAMP = "2026-11-29 19:46:03,500"
EVENT = {"asctime": STAMP, "levelname": "ERROR", "message": "lost", "rank": 4}
ENTRY = {
    "__REALTIME_TIMESTAMP": "1795981563500000",
    "_TRANSPORT": "kernel",
    "SYSLOG_IDENTIFIER": "kernel",
    "MESSAGE": "NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.",
}
DOCKER = [
    {"log": f"{STAMP} [rank1] half ", "stream": "stderr", "time": "2026-11-29T19:46:03.5Z"},
    {"log": "whole\n", "stream": "stderr", "time": "2026-11-29T19:46:03.5Z"},
]
OURS = {
    "restarts-torchrun/logs": "torchrun",
    "skip-slurm/slurm-4711.out": "slurm/slurm-4711.out",
    "dlbus-cri/var_log_pods_node-a_0.log": POD,
    "ckpttrunc-merged/main_log.txt": "merged/main_log.txt",
    "cr-console/console_node-b.log": "merged/bars.log",
}
WRITTEN = {
    "tasks/4711_3.out": f"{STAMP} [INFO] step 7 loss=2.5\n".encode(),
    "tasks/4711_4.out": b"x" * 200_000 + b"\nno stamp \xff\xfe\n",
    "other/structured.log": orjson.dumps(EVENT) + b"\n",
    "other/journal.log": orjson.dumps(ENTRY) + b"\n",
    "other/docker.log": b"".join(orjson.dumps(row) + b"\n" for row in DOCKER),
    "other/ray.log": b"\x1b[36m(W pid=7, ip=10.0.0.2)\x1b[0m [rank9]:[E1129 19:46:03.5 a.cc:1] x\n",
    "other/dmesg.log": b"[Sun Nov 29 19:46:03 2026] NVRM: loading\n[   12.500000] plain\n",
    "other/paris.log": b"2026-11-29 20:46:03.500 x\n",
}
CONFIG = """
run = "r"
node = "n1"
url = "{url}"
token_file = "{folder}/token"
state = "{folder}/state"
once = true
torchrun = ["{folder}/torchrun"]
pods = ["{folder}/pods"]
tasks = "rank"
slurm = ["{folder}/slurm", "{folder}/tasks/%j_%t.out"]
logs = [
  {{ path = "{folder}/other/paris.log", zone = "Europe/Paris" }},
  "{folder}/merged/*", "{folder}/other/*",
]
"""


@dataclass
class Read:
    """All that arrived of one file, as the server reads it."""

    data: bytes = b""
    lines: list = field(default_factory=list)
    carry: object = None
    said: dict = field(default_factory=dict)

    def take(self, node, said, data):
        meta = SegmentMeta(
            source=said["source"],
            channel=said["channel"],
            local_rank=said["local_rank"],
            node=node,
            offset=said["offset"],
            seen_ns=said["seen_ns"],
            partial=said.get("partial", False),
            rank=said.get("rank"),
            carry=self.carry,
        )
        policy = ParsePolicy(
            said.get("zone_offset_s", 0),
            said.get("tasks_are_ranks", False),
            said.get("alone", False),
        )
        segment = parse_segment(meta, data, policy)
        self.lines += segment.lines
        self.carry, self.said = segment.carry, said
        self.data += data


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("node")
    for case, path in OURS.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if (CASES / case).is_dir() else shutil.copyfile
        copy(CASES / case, folder / path)
    for path, data in WRITTEN.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
        os.utime(folder / path, (1_795_982_000, 1_795_982_000))
    (folder / "token").write_text("secret")
    return folder


@pytest.fixture(scope="module")
def server(folder):
    """What a server got from one run of the program."""
    running = AgentServer()
    (folder / "agent.toml").write_text(CONFIG.format(url=running.url, folder=folder))
    command = [sys.executable, "-m", "workers.tailer", "--config", str(folder / "agent.toml")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    running.close()
    assert done.returncode == 0, done.stderr
    return running


@pytest.fixture(scope="module")
def read(server):
    """source -> Read."""
    found = {}
    for header, data in server.opened("logs"):
        at = 0
        for said in header["segments"]:
            one = found.setdefault(said["source"], Read())
            one.take(header["node"], said, data[at : at + said["bytes"]])
            at += said["bytes"]
    return found


def test_every_byte_of_every_file_arrives(folder, read):
    told = (".log", ".out", ".txt")
    files = [p for p in folder.rglob("*") if p.suffix in told or p.name == "error.json"]
    sent = sorted(one.data for one in read.values())
    assert sent == sorted(path.read_bytes() for path in files if path.stat().st_size)


@pytest.mark.parametrize(
    ("source", "ranks", "local_ranks", "channels"),
    [
        ("slurm/slurm-4711.out", {0, 1, 2, 3}, {None}, {"console"}),
        (POD, {0, 1, None}, {0, 1, None}, {"stdout", "console"}),
        ("merged/main_log.txt", {0, 1, 2, 3}, {None}, {"console"}),
        ("merged/bars.log", {2, 3, None}, {None}, {"console"}),
        ("tasks/4711_3.out", {3}, {None}, {"stdout"}),
        ("tasks/4711_4.out", {4}, {None}, {"stdout"}),
        ("other/structured.log", {4}, {None}, {"console"}),
        ("other/ray.log", {9}, {None}, {"console"}),
        ("node-b/attempt_1/1/stderr.log", {None}, {1}, {"stderr"}),
    ],
)
def test_each_line_is_of_its_process(read, source, ranks, local_ranks, channels):
    lines = read[source].lines
    assert {line.rank for line in lines} == ranks
    assert {line.local_rank for line in lines} == local_ranks
    assert {line.channel for line in lines} == channels


@pytest.mark.parametrize(
    "source",
    ["tasks/4711_3.out", "other/structured.log", "other/journal.log", "other/docker.log",
     "other/ray.log", "other/paris.log"],
)  # fmt: skip
def test_each_clock_is_understood(read, source):
    assert {line.time_ns for line in read[source].lines} - {1_795_982_000 * 10**9} == {
        1_795_981_563_500_000_000
    }


def test_the_traceback_behind_a_bar_is_one_event(read):
    lines = [line for line in read["merged/bars.log"].lines if line.rank == 2]
    first = next(n for n, line in enumerate(lines) if "Traceback" in line.text)
    assert "41%|" in lines[first].text
    assert {line.severity for line in lines[first:]} == {Severity.ERROR}


def test_a_huge_line_comes_in_pieces_and_bad_bytes_are_kept(read):
    one = read["tasks/4711_4.out"]
    marks = [line.text[:19] for line in one.lines[1:4]]
    assert marks == [f"[piece {number} of a line]" for number in (2, 3, 4)]
    assert one.lines[-1].text == "no stamp \ufffd\ufffd"


def test_each_kind_is_a_start_and_a_task_of_slurm_is_not(server):
    starts = {(slot.partition(":")[0], name) for slot, name in server.launches}
    assert ("slurm", "job=4711") in starts
    assert ("torchrun", "n1/node-b/attempt_1") in starts
    assert {kind for kind, _ in starts} == {"torchrun", "slurm", "pods", "logs"}
