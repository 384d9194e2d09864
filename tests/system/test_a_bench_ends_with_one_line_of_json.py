"""`manage.py bench` ingest, wandb and growth, on servers of their own and a tiny corpus."""

import json
import os
import subprocess
import sys

import pytest

from tests import ckpt_files
from tests.stack import ROOT

POSITIVE = (
    "lines_per_cpu_s",
    "raw_mb_per_cpu_s",
    "disk_bytes_per_raw_byte",
    "points_per_cpu_s",
    "disk_bytes_per_point",
    "lines_per_s",
    "points_per_s",
)


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    """A function that runs the command: exit status, lines on stdout, stderr."""

    def run(*arguments):
        home = tmp_path_factory.mktemp("home")
        ended = subprocess.run(
            [sys.executable, "manage.py", "bench", *map(str, arguments)],
            cwd=ROOT,
            env={**os.environ, "LASTGOOD_HOME": str(home)},
            capture_output=True,
            text=True,
            timeout=120,
        )
        return ended.returncode, ended.stdout.splitlines(), ended.stderr

    return run


def test_made_up_data(bench, tmp_path):
    status, lines, errors = bench("ingest", "--steps", 50, "--json", tmp_path / "figures.json")
    assert status == 0, errors
    figures = json.loads(lines[-1])
    assert (figures["bench"], figures["lines"], figures["points"]) == ("ingest", 16 * 50, 50 * 60)
    assert [name for name in POSITIVE if not figures[name] > 0] == []
    assert (tmp_path / "figures.json").read_text() == lines[-1] + "\n"
    assert [line.split("  ")[0] for line in lines[:-1]] == ["what", "log lines", "metric points"]


def test_a_folder_of_real_logs(bench, tmp_path):
    folder = tmp_path / "raw" / "gpu-a01"
    folder.mkdir(parents=True)
    (folder / "rank_3.log").write_text("2026-11-29 19:46:03.842 [INFO] [rank3] step 1\n" * 40)
    status, lines, errors = bench("ingest", "--steps", 5, "--data", tmp_path)
    assert (status, json.loads(lines[-1])["lines"]) == (0, 40), errors


def test_made_up_wandb_runs(bench):
    status, lines, errors = bench("wandb", "--steps", 40, "--keys", 3, "--peer", sys.executable)
    assert status == 0, errors
    figures = json.loads(lines[-1])
    assert (figures["steps"], figures["points"], figures["reader_values"]) == (40, 120, 120)
    assert min(figures["steps_per_cpu_s"], figures["disk_bytes_per_point"]) > 0
    assert [name for name in figures if "openwandb" in name] == []


def test_a_run_that_grows(bench):
    status, lines, errors = bench("growth", "--steps", 8, "--keys", 3)
    assert status == 0, errors
    figures = json.loads(lines[-1])
    assert [size["steps"] for size in figures["sizes"]] == [8, 8, 8]
    assert min(size["draw_ms"] for size in figures["sizes"]) > 0


def test_a_burst(bench):
    status, lines, errors = bench("burst", "--keys", 24, "--steps", 5)
    assert status == 0, errors
    figures = json.loads(lines[-1])
    assert [figures[f"{door}_errors"] for door in ("lines", "loki", "otlp")] == [0, 0, 0]
    assert min(figures[f"{door}_searchable_after_s"] for door in ("lines", "loki", "otlp")) > 0


def test_checkpoints_of_which_the_truth_is_known(bench, tmp_path):
    for name, content in ckpt_files.deepspeed().items():
        (tmp_path / "ds" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "ds" / name).write_bytes(content)
    (tmp_path / "ds" / "latest").unlink()
    truth = {"ds": {"expect": ["NO_COMMIT_MARKER"], "loadable": False}}
    (tmp_path / "truth.json").write_text(json.dumps(truth))
    written = tmp_path / "cases.json"
    options = ("--data", tmp_path, "--json", written, "--steps", 8, "--keys", 3)
    status, lines, errors = bench("checkpoints", *options)
    assert status == 0, errors
    figures = json.loads(lines[-1])
    assert (figures["cases"], figures["cases_exact"], figures["cases_loadable_right"]) == (1, 1, 1)
    assert (figures["metadata_chunks"], figures["metadata_level"]) == (9, "headers_verified")
    assert min(value for name, value in figures.items() if name.endswith("_per_s")) > 0
    case = json.loads(written.read_text())["cases"]["ds"]
    assert [step["layout"] for step in case["steps"]] == ["deepspeed", "deepspeed"]


def test_a_folder_that_is_none(bench, tmp_path):
    status, lines, errors = bench("ingest", "--data", tmp_path / "absent")
    assert (status, lines) == (1, [])
    assert "absent is not a folder" in errors
