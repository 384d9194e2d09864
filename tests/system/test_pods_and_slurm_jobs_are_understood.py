"""A job that died, told by the files of its pods only, and by one file of Slurm: the whole way."""

import shutil
from contextlib import closing
from pathlib import Path

import pytest

from tests.agents import config
from workers.demo.loading import Reader, Target
from workers.tailer import templates
from workers.tailer.agent import Agent
from workers.tailer.config import Limits
from workers.tailer.pathsources import PathSource

CASES = Path(__file__).parents[1] / "samples/logs/cases"


@pytest.fixture
def told(stack, tmp_path):
    """told(run, node, source): what one agent sends is stored."""

    def send(run, node, *sources):
        settings = config(
            stack, tmp_path, run=run, node=node, token=stack.token, torchrun=(), logs=sources,
            state_dir=tmp_path / f"state-{node}", once=True, limits=Limits(),
        )  # fmt: skip
        assert Agent(settings).run()["dead_letters"] == 0

    return send


def analysed(stack, run):
    """The pages that the run is worth, once all that was sent is analysed."""
    with closing(Reader(Target(stack.url, stack.token, run))) as reader:
        reader.wait(120)
    assert stack.get(f"runs/{run}/ingest")["quarantined"] == 0
    return [one for one in stack.get(f"incidents?run={run}")["items"] if one["page"]]


def lines_of(stack, run, **asked):
    query = "&".join(f"{name}={value}" for name, value in asked.items())
    return stack.get(f"runs/{run}/logs?limit=200&{query}")["items"]


def test_pods_tell_which_rank_died_first(stack, told, tmp_path):
    for node, index in (("node-a", 0), ("node-b", 1)):
        log = tmp_path / node / f"train_gpt-worker-{index}_0a1b/pytorch/0.log"
        log.parent.mkdir(parents=True)
        shutil.copyfile(CASES / f"dlbus-cri/var_log_pods_{node}_0.log", log)
        pods = templates.parse(f"{tmp_path}/{node}/{templates.PODS}")
        told("pods", node, PathSource("pods", pods))

    (incident,) = analysed(stack, "pods")

    (suspect,) = incident["suspects"][:1]
    assert (suspect["rank"], suspect["node"]) == (1, "node-a")
    assert suspect["fault_class"] in ("dataloader_worker", "exit_sigbus")
    assert len(lines_of(stack, "pods", node="node-a")) == 115
    assert len(lines_of(stack, "pods", node="node-b")) == 127
    assert {line["node"] for line in lines_of(stack, "pods", ranks=2)} == {"node-b"}


def test_one_file_of_slurm_holds_the_lines_of_its_ranks(stack, told, tmp_path):
    shutil.copyfile(CASES / "skip-slurm/slurm-4711.out", tmp_path / "slurm-4711.out")
    template = templates.parse(f"{tmp_path}/slurm-%j.out", slurm=True)
    told("slurm", "login", PathSource("slurm", template, tasks="rank"))
    told("slurm", "other", PathSource("slurm", template, tasks="rank"))

    analysed(stack, "slurm")

    lines = lines_of(stack, "slurm")
    assert len(lines) == 82
    assert {line["node"] for line in lines} == {None}
    assert [len(lines_of(stack, "slurm", ranks=rank)) for rank in range(4)] == [28, 14, 28, 12]
    assert lines_of(stack, "slurm", ranks=1, text="bad+batch")[0]["step"] == 6
