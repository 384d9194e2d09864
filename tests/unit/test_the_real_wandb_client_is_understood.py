"""A `.wandb` file that the installed wandb package writes offline right now."""

import math
import os
import subprocess
import sys
from collections import Counter

import pytest

from apps.ingest.wandb import extras
from apps.ingest.wandb.parse import decode, read_records

SCRIPT = """
import math, wandb
run = wandb.init(project="p", id="r1", name="my run", config={"lr": 0.1, "up": math.inf})
run.define_metric("loss", summary="min")
for step in range(300):
    run.log({"loss": 1.0 / (step + 1), "eval": {"acc": step}, "ok": True, "big": 2**70})
run.log({"loss": math.nan, "up": math.inf, "down": -math.inf, "note": "text", "none": None})
run.log({"h": wandb.Histogram([1, 2, 3]), "loss": 1e308, "list": [1, 2], "page": wandb.Html("<b>")})
print("hello from the run")
run.finish(exit_code=3)
"""


@pytest.fixture(scope="module")
def batch(tmp_path_factory):
    folder = tmp_path_factory.mktemp("client")
    environment = os.environ | {
        "WANDB_MODE": "offline",
        "WANDB_DIR": str(folder),
        "HOME": str(folder),
    }
    command = [sys.executable, "-W", "ignore", "-c", SCRIPT]
    subprocess.run(command, env=environment, cwd=folder, check=True, capture_output=True)
    (file,) = folder.glob("wandb/offline-run-*/run-r1.wandb")
    wire = read_records(file.read_bytes(), final=True)
    assert wire.problems == []
    return decode(wire.records, now_ns=0)


def test_every_step_arrives_in_order(batch):
    assert [row.step for row in batch.rows] == list(range(302))
    assert batch.problems == ()


def test_numbers_dicts_and_booleans(batch):
    assert batch.rows[4].values == {"loss": 0.2, "eval/acc": 4.0, "ok": 1.0, "big": 2.0**70}


def test_non_finite_values(batch):
    values = batch.rows[300].values

    assert math.isnan(values["loss"])
    assert (values["up"], values["down"]) == (math.inf, -math.inf)


def test_what_is_no_number_is_kept_beside_the_numbers(batch):
    assert batch.rows[301].values["loss"] == 1e308
    kept = sum((extras.kinds(row.extra or {}) for row in batch.rows), Counter())
    assert kept == {"str": 1, "null": 1, "html-file": 1, "list": 1, "histogram": 1}
    assert batch.skipped == {}


def test_a_histogram_becomes_its_figures(batch):
    figures = {key: value for key, value in batch.rows[301].values.items() if key != "loss"}
    assert list(figures) == [f"h/{figure}" for figure in ("mean", "std", "rms", "max_abs", "norm")]
    assert figures["h/max_abs"] == 3.0
    assert figures["h/norm"] == pytest.approx(math.sqrt(1 + 4 + 9), rel=1e-3)


def test_facts(batch):
    assert (batch.run.run_id, batch.run.project, batch.run.display_name) == ("r1", "p", "my run")
    assert (batch.config["lr"], batch.config["up"], batch.exit_code) == (0.1, "Infinity", 3)
    assert "hello from the run" in [line.text for line in batch.console]
