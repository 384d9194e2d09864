"""An unmodified `wandb` client logs into a running Lastgood, and has nothing to complain of."""

import pytest

from tests.stack import until

STEPS = 200
FULL = f"""
import math, sys, wandb
run = wandb.init(project="p", id="full", name="my run", config={{"lr": 0.1, "up": math.inf}},
                 group="g", tags=["t"], job_type="train")
run.define_metric("loss", summary="min")
for step in range({STEPS}):
    run.log({{"loss": 1.0 / (step + 1), "eval": {{"acc": step}}}})
run.log({{"loss": math.nan, "up": math.inf, "down": -math.inf, "h": wandb.Histogram([1, 2])}})
run.log({{"rows": wandb.Table(columns=["x"], data=[[1]]), "page": wandb.Html("<b>")}})
run.mark_preempting()
print("hello from the run")
print("and its stderr", file=sys.stderr)
run.summary["best"] = 7
run.alert("look", "at this", level=wandb.AlertLevel.WARN)
run.finish(exit_code=3)
"""


@pytest.fixture(scope="module")
def full(stack, wandb):
    done = wandb.run(FULL)
    until(lambda: stack.drained("full"), "the writer to catch up")
    return done


def test_the_client_has_nothing_to_complain_of(full):
    assert (full.code, full.complaints) == (0, []), full.said


def test_every_step_is_stored_once(stack, full):
    steps = stack.steps_of("full", ["loss", "eval/acc"])
    assert steps == {"loss": [*range(STEPS)], "eval/acc": [*range(STEPS)]}


def test_values_that_are_not_finite_are_kept_as_what_they_are(stack, full):
    found = stack.get("runs/full/series?keys=loss,up,down&points=4000")["series"]
    odd = {window["key"]: window["nonfinite"] for window in found}
    assert odd == {
        "loss": [[STEPS, "NaN"]],
        "up": [[STEPS, "Infinity"]],
        "down": [[STEPS, "-Infinity"]],
    }


def test_configuration_project_and_end_are_known(stack, full):
    run = stack.get("runs/full")
    assert (run["project"], run["state"]) == ("p", "stopped")
    said = {name: run["config"][name] for name in ("lr", "wandb/group", "wandb/tags")}
    assert said == {"lr": 0.1, "wandb/group": "g", "wandb/tags": ["t"]}


def test_console_lines_come_with_their_time(stack, full):
    lines = stack.get("runs/full/logs?limit=100")["items"]
    texts = [line["text"] for line in lines]
    assert {"hello from the run", "and its stderr"} <= set(texts)


def test_system_metrics_come_with_them(stack, full):
    names = [key["key"] for key in stack.get("runs/full/keys")["items"]]
    assert "system/proc.cpu.threads" in names


def test_an_alert_of_the_script_is_an_incident(stack, full):
    found = {i["kind"]: i for i in stack.get("incidents?run=full")["items"]}
    said = found["script_alert"]
    told = (said["title"], said["page"], said["cause_hint"])
    assert told == ("Script alert: look", False, "the training script reported it")


def test_what_is_not_kept_is_counted(stack, full):
    counters = stack.counters("full")
    kinds = ("skipped: table-file", "skipped: html-file")
    assert [counters[kind] for kind in kinds] == [1, 1]
    assert (counters["wandb_alerts"], counters["preemption_notices"]) == (1, 1)
    assert counters["files_not_kept"] > 0
    assert counters.get("gaps", 0) == 0
