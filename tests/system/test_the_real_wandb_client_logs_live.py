"""Unmodified `wandb` clients log into a running Lastgood, and have nothing to complain of."""

import math
import random
import struct

import psycopg
import pytest

from tests.stack import until
from tests.wandb_client import VERSIONS, finish

STEPS = 200
FULL = """
import math, sys, time, wandb
from random import Random
from struct import unpack
run = wandb.init(project="p", id="RUN", name="my run", config={"lr": 0.1, "up": math.inf},
                 group="g", tags=["t"], job_type="train", notes="why")
run.config.update({"later": [1, {"deep": "x"}]})
run.define_metric("eval/step")
run.define_metric("loss", step_metric="eval/step", summary="min,last")
bits = Random(1)
for step in range(STEPS):
    odd, = unpack("<d", bits.randbytes(8))
    run.log({"loss": 1.0 / (step + 1), "eval": {"acc": step, "step": 10 * step},
             **({"odd": odd} if math.isfinite(odd) else {})})
run.log({"loss": math.nan, "up": math.inf, "down": -math.inf, "h": wandb.Histogram([1, 2])})
run.log({"rows": wandb.Table(columns=["x"], data=[[1]]), "page": wandb.Html("<b>"),
         "note": "text", "flag": True, "big": 2 ** 60, "none": None})
run.name, run.tags = "renamed", ("t", "later")
run.mark_preempting()
print("hello from the run")
print("and its stderr", file=sys.stderr)
run.summary["best"] = 7
run.alert("look", "at this", level=wandb.AlertLevel.WARN)
time.sleep(0.5)
run.finish(exit_code=3)
""".replace("STEPS", str(STEPS))

OFTEN = {"WANDB__STATS_SAMPLE_RATE_SECONDS": "0.1", "WANDB__STATS_SAMPLES_TO_AVERAGE": "1"}
"""How often the old client looks at the system, which else is after 30 s."""

pytestmark = pytest.mark.parametrize("version", VERSIONS)


@pytest.fixture(scope="module")
def ended(stack, wandbs):
    """version -> how its client ended; both ran at once."""
    clients = {v: wandbs[v].start(FULL.replace("RUN", f"full-{v}"), **OFTEN) for v in VERSIONS}
    found = {version: finish(client) for version, client in clients.items()}
    until(lambda: all(stack.drained(f"full-{v}") for v in VERSIONS), "the writer to catch up")
    return found


@pytest.fixture
def full(ended, version):
    return f"full-{version}"


def test_the_client_has_nothing_to_complain_of(ended, version):
    done = ended[version]
    assert (done.code, done.complaints) == (0, []), done.said


def test_every_step_is_stored_once(stack, full):
    keys = ["loss", "eval/acc"]
    assert stack.steps_of(full, keys) == {key: [*range(STEPS)] for key in keys}


def test_values_are_kept_bit_for_bit(stack, full):
    bits = random.Random(1)
    logged = dict(enumerate(struct.unpack("<d", bits.randbytes(8))[0] for _ in range(STEPS)))
    expected = {step: value.hex() for step, value in logged.items() if math.isfinite(value)}
    found = {step: float(value).hex() for step, value in stack.values_of(full, "odd").items()}
    assert found == expected


def test_values_that_are_not_finite_are_kept_as_what_they_are(stack, full):
    found = stack.get(f"runs/{full}/series?keys=loss,up,down&points=4000")["series"]
    odd = {window["key"]: window["nonfinite"] for window in found}
    assert odd == {
        "loss": [[STEPS, "NaN"]],
        "up": [[STEPS, "Infinity"]],
        "down": [[STEPS, "-Infinity"]],
    }


def test_whole_numbers_and_yes_or_no_are_numbers(stack, full):
    found = [stack.values_of(full, key) for key in ("big", "flag")]
    assert found == [{STEPS + 1: 2.0**60}, {STEPS + 1: 1.0}]


def test_configuration_project_and_end_are_known(stack, full):
    run = stack.get(f"runs/{full}")
    assert (run["project"], run["state"], len(run["attempts"])) == ("p", "stopped", 1)
    expected = {
        "lr": 0.1,
        "up": "Infinity",
        "later": [1, {"deep": "x"}],
        "wandb/name": "renamed",
        "wandb/group": "g",
        "wandb/tags": ["t", "later"],
        "wandb/job_type": "train",
        "wandb/notes": "why",
    }
    assert {name: run["config"].get(name) for name in expected} == expected


def test_what_define_metric_said_stays_in_the_configuration(stack, full):
    metrics = stack.get(f"runs/{full}")["config"]["_wandb"]["m"]
    named = {metric["1"]: metric for metric in metrics}
    axis = 1 + metrics.index(named["eval/step"])
    assert (named["loss"]["5"], sorted(named["loss"]["7"])) == (axis, [1, 5])


def test_the_summary_is_kept(stack, full):
    sql = "SELECT summary FROM runs_attempt JOIN runs_run r ON r.id = run_id WHERE r.key = %s"
    with psycopg.connect(stack.env["DATABASE_URL"]) as connection:
        ((summary,),) = connection.execute(sql, [full]).fetchall()
    assert (summary["best"], summary["up"]) == (7, "Infinity")


def test_console_lines_come_with_their_time(stack, full):
    lines = stack.get(f"runs/{full}/logs?limit=100")["items"]
    texts = [line["text"] for line in lines]
    assert {"hello from the run", "and its stderr"} <= set(texts)
    assert all(line["time_ns"] > 1.7e18 for line in lines)


def test_system_metrics_come_with_them(stack, full):
    names = [key["key"] for key in stack.get(f"runs/{full}/keys")["items"]]
    assert {"system/proc.cpu.threads", "system/proc.memory.rssMB"} <= set(names)


def test_an_alert_of_the_script_is_an_incident(stack, full):
    found = {i["kind"]: i for i in stack.get(f"incidents?run={full}")["items"]}
    said = found["script_alert"]
    told = (said["title"], said["page"], said["cause_hint"])
    assert told == ("Script alert: look", False, "the training script reported it")


def test_a_histogram_becomes_its_figures(stack, full):
    keys = {key["key"] for key in stack.get(f"runs/{full}/keys")["items"]}
    assert {"h/mean", "h/std", "h/rms", "h/max_abs", "h/norm"} <= keys


def test_what_is_not_kept_is_counted(stack, full):
    counters = stack.counters(full)
    assert not any(name.startswith("skipped") for name in counters)
    assert (counters["wandb_alerts"], counters["preemption_notices"]) == (1, 1)
    assert counters["files_not_kept"] > 0
    assert (counters.get("gaps", 0), counters.get("quarantined", 0)) == (0, 0)
