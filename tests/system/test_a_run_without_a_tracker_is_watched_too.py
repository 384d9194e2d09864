"""One recorded run whose loss explodes at step 1000, told in every other way a run may log."""

import csv
import json
from contextlib import closing

import pytest

from apps.ingest.wandb.parse import decode
from apps.ingest.wandb.wire import read_records
from tests.event_files import framed, scalar
from workers.demo.folder import read_folder
from workers.demo.loading import Reader, Target
from workers.demo.recordings import unpack
from workers.tailer.agent import Agent
from workers.tailer.config import AgentConfig

KEYS = ("train/loss", "train/grad_norm", "train/lr")
T0_S = 1_795_981_200


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return unpack("lrbump", tmp_path_factory.mktemp("lrbump"))


@pytest.fixture(scope="module")
def rows(folder):
    """(step, values) of the first start, as W&B has them."""
    first = read_folder(folder).starts[0].wandb
    records = read_records(first.read_bytes(), final=True).records
    found = decode(records, now_ns=0).rows
    return [(r.step, {k: r.values[k] for k in KEYS if k in r.values}) for r in found]


def tensorboard(rows, path):
    events = [scalar(s, v, tag=k, at_s=s / 10) for s, values in rows for k, v in values.items()]
    path = path / "events.out.tfevents.1795981200.gpu-a01.7.0"
    path.write_bytes(framed(events))
    return {"tensorboard": (path,)}


def jsonl(rows, path):
    path = path / "metrics.jsonl"
    lines = [json.dumps({"step": s, "time": T0_S + s / 10, **values}) + "\n" for s, values in rows]
    path.write_text("".join(lines))
    return {"jsonl": (path,)}


def lightning(rows, path):
    path = path / "metrics.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, ("step", *KEYS))
        writer.writeheader()
        writer.writerows({"step": step, **values} for step, values in rows)
    return {"csv": (path,)}


def trainer(rows, path):
    path = path / "checkpoint-1250" / "trainer_state.json"
    path.parent.mkdir(exist_ok=True)
    names = {"train/loss": "loss", "train/grad_norm": "grad_norm", "train/lr": "learning_rate"}
    history = [{"step": s, **{names[k]: v for k, v in values.items()}} for s, values in rows]
    path.write_text(json.dumps({"global_step": 1250, "log_history": history}))
    return {"trainer_state": (path.parent.parent,)}


def told(stack, run, tmp_path, **sources):
    """The run as the API has it, once what the agent sent is analysed."""
    config = AgentConfig(
        run=run, node="gpu-a01", url=stack.url, token=stack.token, state_dir=tmp_path / "state",
        once=True, **sources,
    )  # fmt: skip
    assert Agent(config).run()["dead_letters"] == 0
    with closing(Reader(Target(stack.url, stack.token, run))) as reader:
        reader.wait(120)
    assert stack.get(f"runs/{run}/ingest")["quarantined"] == 0
    return stack.get(f"incidents?run={run}")["items"]


@pytest.mark.parametrize("write", [tensorboard, jsonl, lightning, trainer])
def test_the_explosion_is_found_in_a_file_of_metrics(stack, rows, tmp_path, write):
    run = f"told-by-{write.__name__}"
    incidents = told(stack, run, tmp_path, **write(rows, tmp_path))
    (incident,) = [one for one in incidents if one["page"]]
    assert (incident["kind"], incident["onset_step"]) in [("explosion", 1000), ("explosion", 1001)]
    assert stored_steps(stack, run) == [step for step, values in rows if values]


@pytest.mark.parametrize("write", [tensorboard, jsonl, lightning, trainer])
def test_an_agent_that_lost_its_state_doubles_nothing(stack, rows, tmp_path, write):
    run = f"again-by-{write.__name__}"
    told(stack, run, tmp_path, **write(rows[:300], tmp_path))
    told(stack, run, tmp_path / "new", **write(rows[:400], tmp_path))
    assert stored_steps(stack, run) == [step for step, values in rows[:400] if values]


def stored_steps(stack, run):
    key = "loss" if run.endswith("trainer") else "train/loss"
    return stack.steps_of(run, [key])[key]


def test_the_explosion_is_found_in_the_progress_lines_of_rank_logs(stack, folder, tmp_path):
    (host,) = read_folder(folder).starts[0].hosts[:1]
    incidents = told(
        stack, "told-by-lines", tmp_path, torchrun=(host.torchrun,), console=(host.console,)
    )
    (incident,) = [one for one in incidents if one["page"] and one["kind"] == "explosion"]
    assert 1000 <= incident["onset_step"] <= 1020
    steps = stack.steps_of("told-by-lines", ["log/lm loss"])["log/lm loss"]
    assert steps == sorted(set(steps))


def test_a_trainer_tells_its_checkpoints(stack, rows, tmp_path):
    told(stack, "told-checkpoints", tmp_path, **trainer(rows, tmp_path))
    (checkpoint,) = stack.get("runs/told-checkpoints/checkpoints")["items"]
    assert checkpoint["step"] == 1250
