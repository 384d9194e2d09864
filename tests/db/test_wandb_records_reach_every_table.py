"""A real recorded `.wandb` file: history, system metrics, console, config, summary, exit."""

import orjson
import pytest

from apps.ingest import store
from apps.ingest.digest import digest
from apps.ingest.wandb.wire import read_records
from apps.logs import store as logs
from apps.logs.records import LogQuery
from apps.metrics import store as metrics
from apps.runs import store as runs
from tests.factories import envelope
from workers.demo.recordings import unpack


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    folder = unpack("exc_r6", tmp_path_factory.mktemp("exc"))
    (file,) = folder.glob("wandb/*/*.wandb")
    return read_records(file.read_bytes(), 0)[0]


@pytest.fixture
def run_id(db, records):
    run_id = runs.ensure_run("exc")
    half = len(records) // 2
    for at, part in ((0, records[:half]), (half, records[half:])):
        header = {
            "v": 1, "attempt": 0, "file": "run-exc.wandb", "node": "gpu-a01",
            "first_record": at, "lengths": [len(record) for record in part],
        }  # fmt: skip
        body = orjson.dumps(header) + b"\n" + b"".join(part)
        digest([envelope("wandb", body, run_id=run_id)])
    return run_id


def test_nothing_is_refused(run_id):
    counters = store.counters(run_id)
    assert "quarantined" not in counters
    assert "unreadable_records" not in counters


def test_the_history_is_there_step_by_step(run_id):
    steps, _, _ = metrics.read_rows(run_id, 0, ["train/loss"])["train/loss"]
    assert steps.tolist() == list(range(len(steps)))


def test_system_metrics_stand_at_the_newest_step(run_id):
    assert any(info.key.startswith("system/gpu.0.") for info in metrics.keys(run_id))


def test_the_console_is_kept_once(run_id):
    page = logs.read_lines(LogQuery(run_id=run_id, copies=True, text="model parameters"))
    assert len(page.lines) == 1
    assert store.counters(run_id).get("gaps", 0) == 0


def test_the_run_knows_its_project_and_config(run_id):
    run = runs.get_run("exc")
    assert run.project == "pysource-gpt"
    assert run.config["fault"] == "exc"
