"""Real `.wandb` files of wandb 0.31.0, written by real trainings."""

import pytest

from apps.ingest.wandb.parse import decode, read_records
from workers.demo import recordings


def read(name, tmp_path):
    files = sorted(recordings.unpack(name, tmp_path).glob("wandb/*/run-*.wandb"))
    wires = [read_records(path.read_bytes(), final=True) for path in files]
    return [(wire, decode(wire.records, now_ns=0)) for wire in wires]


@pytest.mark.parametrize(
    ("name", "spans"),
    [
        ("lrbump", [(0, 1259), (900, 1499)]),
        ("sdc_rollback", [(0, 859), (600, 1199)]),
        ("badbatch", [(0, 499)]),
        ("quiet", [(0, 1727)]),
        ("hang_r5", [(0, 119)]),
        ("exc_r6", [(0, 119)]),
    ],
)
def test_every_step_is_there_once_and_in_order(name, spans, tmp_path):
    read_files = read(name, tmp_path)

    assert [wire.problems for wire, _ in read_files] == [[]] * len(spans)
    assert [[row.step for row in batch.rows] for _, batch in read_files] == [
        list(range(first, last + 1)) for first, last in spans
    ]


def test_the_values_around_the_explosion_are_the_logged_ones(tmp_path):
    (_, batch), (_, resumed) = read("lrbump", tmp_path)
    loss = {row.step: row.values["train/loss"] for row in batch.rows}

    assert loss[1000] == pytest.approx(0.9003161, abs=1e-7)
    assert max(loss[step] for step in range(1001, 1011)) > 3.4
    assert batch.rows[1000].values["train/lr"] == pytest.approx(40 * 2.479e-4, rel=1e-3)
    assert resumed.rows[0].time_ns > batch.rows[-1].time_ns
    assert len(batch.rows[0].values) == 61


def test_facts_system_metrics_and_console(tmp_path):
    (_, batch), _ = read("lrbump", tmp_path)

    assert (batch.run.run_id, batch.run.project, batch.run.host) == (
        "lrbump",
        "pysource-gpt",
        "gpu-a01",
    )
    assert (batch.config["lr"], batch.config["warmup"], batch.exit_code) == (0.0006, 200, 0)
    assert batch.system[0].values["system/gpu.0.temp"] == 39.0
    assert batch.console[0].text.endswith("train: model parameters: 38298624")
    assert batch.summary["train/loss"] == batch.rows[-1].values["train/loss"]
    assert (batch.skipped, batch.problems) == ({}, ())


def test_a_failed_run_ends_with_its_exit_code(tmp_path):
    ((_, batch),) = read("exc_r6", tmp_path)

    assert batch.exit_code == 1
