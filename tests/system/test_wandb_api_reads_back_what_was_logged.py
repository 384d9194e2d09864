"""`wandb.Api`, unmodified, reads from a running Lastgood what a `wandb` client logged."""

import json

import pytest

from tests.stack import until

STEPS = 1_100
LOG = f"""
import math, wandb
run = wandb.init(project="back", id="back", name="named", config={{"lr": 0.1, "up": math.inf}},
                 group="g", tags=["t"], job_type="train", notes="n")
for step in range({STEPS}):
    run.log({{"loss": 1.0 / (step + 3), "train/x": step * 0.1, "epoch": step // 10}})
run.log({{"loss": math.nan, "up": math.inf}})
print("one line")
print("another line")
run.summary["best"] = 7
run.finish()
"""
HEAD = "import json, wandb\napi = wandb.Api()\nfound = {}\n"
TAIL = "\nprint('FOUND', json.dumps(found))"


@pytest.fixture(scope="module")
def logged(stack, wandb):
    done = wandb.run(LOG)
    until(lambda: stack.drained("back"), "the writer to catch up")
    return done


def ask(reader, script):
    done = reader.run(HEAD + script + TAIL)
    lines = [line for line in done.said.splitlines() if line.startswith("FOUND ")]
    assert lines, done.said
    return json.loads(lines[0].removeprefix("FOUND "))


@pytest.fixture(scope="module")
def found(logged, reader):
    assert logged.code == 0, logged.said
    return ask(
        reader,
        """
found["entity"] = api.default_entity
found["projects"] = [p.name for p in api.projects()]
run = api.run("back/back")
found["run"] = [run.id, run.name, run.state, run.tags, run.notes, run.group, run.job_type]
found["times"] = [run.created_at, run.heartbeat_at]
found["config"] = run.config
found["summary"] = {key: run.summary[key] for key in ("best", "loss", "up")}
found["keys"] = sorted(run.history_keys["keys"])
found["last"] = run.lastHistoryStep
found["lines"] = run.historyLineCount
found["scan"] = list(run.scan_history())
found["some"] = list(run.scan_history(keys=["loss"], min_step=10, max_step=20))
found["pages"] = len(list(run.scan_history(keys=["loss", "epoch"], page_size=300)))
found["history"] = run.history(samples=50, pandas=False)
found["sampled"] = run.history(samples=50, keys=["loss"], pandas=False)
found["system"] = run.history(stream="system", pandas=False)
found["console"] = [[l.number, l.content] for l in run.console_logs(per_page=1)]
found["files"] = sorted(file.name for file in run.files())
found["host"] = run.metadata["host"]
run.file("requirements.txt").download(root="got")
found["requirements"] = open("got/requirements.txt").read()
found["tail"] = [[l.number, l.content] for l in run.console_logs(last=1)]
""",
    )


def test_the_run_is_found_with_what_was_said_of_it(found):
    assert found["entity"] == "lastgood"
    assert "back" in found["projects"]
    assert found["run"] == ["back", "named", "finished", ["t"], "n", "g", "train"]
    assert all(found["times"])
    assert found["config"] == {"lr": 0.1, "up": float("inf")}


def test_the_summary_is_what_it_was(found):
    assert (found["summary"]["best"], found["summary"]["up"]) == (7, float("inf"))
    assert found["summary"]["loss"] != found["summary"]["loss"]


def test_a_scan_gives_every_step_with_its_values_bit_for_bit(found):
    rows = found["scan"]
    assert [row["_step"] for row in rows] == [*range(STEPS + 1)]
    for step, row in enumerate(rows[:STEPS]):
        assert row["loss"] == 1.0 / (step + 3)
        assert row["train/x"] == step * 0.1
        assert (row["epoch"], type(row["epoch"])) == (step // 10, int)
    assert rows[-1]["loss"] != rows[-1]["loss"]
    assert rows[-1]["up"] == float("inf")


def test_a_scan_of_some_keys_gives_the_steps_that_have_them_all(found):
    assert found["some"] == [{"_step": step, "loss": 1.0 / (step + 3)} for step in range(10, 20)]
    assert found["pages"] == STEPS


def test_keys_and_the_newest_step_are_known(found):
    assert found["keys"] == ["epoch", "loss", "train/x", "up"]
    assert (found["last"], found["lines"]) == (STEPS, STEPS + 1)


def test_samples_are_rows_of_the_history_from_its_first_to_its_last(found):
    rows = {row["_step"]: row for row in found["scan"]}
    steps = [row["_step"] for row in found["history"]]
    assert (len(steps), steps[0], steps[-1]) == (50, 0, STEPS)
    assert [row["train/x"] for row in found["history"][:-1]] == [
        rows[step]["train/x"] for step in steps[:-1]
    ]
    assert len(found["sampled"]) == 50
    assert all(set(row) == {"_step", "loss"} for row in found["sampled"])


def test_system_metrics_and_console_lines_come_back(found):
    assert "system.proc.cpu.threads" in found["system"][0]
    texts = [text for _, text in found["console"]]
    assert [number for number, _ in found["console"]] == [*range(len(texts))]
    assert [t for t in texts if t.endswith(" line")] == ["one line", "another line"]
    assert found["tail"] == found["console"][-1:]


def test_small_files_are_listed_and_downloaded(found):
    assert {"wandb-metadata.json", "requirements.txt"} <= set(found["files"])
    assert found["host"]
    assert "wandb==" in found["requirements"]


def test_runs_are_listed_by_filter_and_order(logged, stack, wandb, reader):
    for name, lr in (("list-a", 0.1), ("list-b", 0.2), ("list-c", 0.3)):
        script = f'import wandb\nr = wandb.init(project="list", id="{name}", config={{"lr": {lr}}})'
        assert wandb.run(script + f'\nr.log({{"loss": {lr}}})\nr.finish()').code == 0
        until(lambda name=name: stack.drained(name), "the writer to catch up")
    found = ask(
        reader,
        """
def ids(**given): return [run.id for run in api.runs("list", **given)]
found["all"] = ids(per_page=2)
found["some"] = ids(filters={"config.lr": {"$gt": 0.15}}, order="-created_at")
found["or"] = ids(filters={"$or": [{"name": "list-a"}, {"summary_metrics.loss": 0.3}]})
found["best"] = ids(order="-summary_metrics.loss", per_page=1)
found["count"] = len(api.runs("list", filters={"state": "finished"}))
""",
    )
    assert found == {
        "all": ["list-a", "list-b", "list-c"],
        "some": ["list-c", "list-b"],
        "or": ["list-a", "list-c"],
        "best": ["list-c", "list-b", "list-a"],
        "count": 3,
    }


def test_whoever_may_only_send_reads_nothing(logged, wandb):
    done = wandb.run('import wandb\nwandb.Api().run("back/back")')
    assert done.code == 1
    assert "named" not in done.said
