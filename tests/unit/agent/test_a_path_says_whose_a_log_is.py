"""Templates of paths, Slurm's patterns and the folders of Kubernetes: run, start, node, process."""

import pytest

from apps.core.errors import AppError
from tests.agents import append
from workers.tailer import templates
from workers.tailer.pathsources import (
    PathSource,
    check_zone,
    logs_of,
    run_of_pod,
    tasks_of,
    zone_offset_s,
)

POD = "train_gpt-worker-1_0a1b2c3d-0000-4000-8000-123456789abc"


def put(root, *paths):
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        append(root / path, b"x\n")


def found(root, kind, text, *, run="r", tasks=""):
    """Path below root -> what is known of it."""
    template = templates.parse(f"{root}/{text}", slurm=kind == "slurm")
    source = PathSource(kind, template, tasks=tasks)
    return {log.path.relative_to(root).as_posix(): log for log in logs_of(source, run, "here")}


def process(log):
    origin = log.origin
    return origin.rank, origin.local_rank, origin.channel


def test_names_in_a_path_are_run_start_node_and_process(tmp_path):
    put(tmp_path, "gpt/attempt_0/n1/rank_3.err", "gpt/attempt_1/n2/rank_12.out", "gpt/other/x.log")

    logs = found(tmp_path, "logs", "{run}/attempt_{attempt}/{node}/rank_{rank}.*", run="")

    first, second = logs["gpt/attempt_0/n1/rank_3.err"], logs["gpt/attempt_1/n2/rank_12.out"]
    assert len(logs) == 2
    assert (first.run, first.node, first.name) == ("gpt", "n1", "attempt=0")
    assert (second.run, second.node, second.name) == ("gpt", "n2", "attempt=1")
    assert (process(first), process(second)) == ((3, None, "stderr"), (12, None, "stdout"))
    assert first.slot == second.slot


def test_a_file_of_all_processes_is_a_console(tmp_path):
    put(tmp_path, "job.log")
    (log,) = found(tmp_path, "logs", "job.log").values()
    assert (process(log), log.origin.alone) == ((None, None, "console"), True)


@pytest.mark.parametrize(
    ("pattern", "path", "name", "rank"),
    [
        ("slurm-%j.out", "slurm-4711.out", "job=4711", None),
        ("%x-%j.out", "gpt-4711.out", "job=4711", None),
        ("%j_%t.out", "4711_12.out", "job=4711", 12),
        ("%A_%a-%t.err", "4711_3-12.err", "job=4711,start=3", 12),
        ("%x/%N_%04t.out", "gpt/n7_0012.out", None, 12),
    ],
)
def test_slurms_own_patterns_are_read(tmp_path, pattern, path, name, rank):
    put(tmp_path, path)
    (log,) = found(tmp_path, "slurm", pattern, tasks="rank").values()
    assert log.origin.rank == rank
    assert log.origin.tasks_are_ranks
    assert name is None or log.name == name


def test_the_node_of_a_file_on_a_shared_disk_is_not_known(tmp_path):
    put(tmp_path, "slurm-4711.out")
    (log,) = found(tmp_path, "slurm", "slurm-%j.out").values()
    assert (log.node, log.slot) == ("", "slurm")


def test_a_slurm_task_may_be_a_node(tmp_path):
    put(tmp_path, "4711_0.out", "4711_1.out")
    logs = found(tmp_path, "slurm", "%j_%t.out", tasks="node")
    assert [(log.node, log.origin.rank) for log in logs.values()] == [
        ("task-0", None),
        ("task-1", None),
    ]


@pytest.mark.parametrize(
    ("tasks", "nodes", "kind"),
    [("16", "2", "rank"), ("2", "2", "node"), ("", "", "")],
)
def test_the_job_says_what_its_tasks_are(tasks, nodes, kind):
    assert tasks_of({"SLURM_NTASKS": tasks, "SLURM_JOB_NUM_NODES": nodes}) == kind


def test_each_start_of_a_container_is_a_start(tmp_path):
    put(tmp_path, f"{POD}/pytorch/0.log", f"{POD}/pytorch/1.log", f"{POD}/pytorch/0.log.2026.gz")

    logs = found(tmp_path, "pods", templates.PODS, run="")

    said = [log.name.partition(",")[2] for log in logs.values()]
    assert said == ["container=pytorch,start=0", "container=pytorch,start=1"]
    assert {log.slot for log in logs.values()} == {"pods:train/gpt-worker-1/pytorch"}
    assert {(log.run, log.node) for log in logs.values()} == {("gpt", "here")}


@pytest.mark.parametrize(
    ("pod", "run"),
    [
        ("gpt-worker-3", "gpt"),
        ("gpt-master-0", "gpt"),
        ("gpt-0-x7k2p", "gpt"),
        ("gpt-7b-workers-0-3-x7k2p", "gpt-7b"),
        ("gpt", "gpt"),
    ],
)
def test_the_name_of_a_pod_tells_its_job(pod, run):
    assert run_of_pod(pod) == run


def test_links_of_containers_are_followed(tmp_path):
    put(tmp_path, "pods/0.log")
    link = tmp_path / "containers" / f"gpt-worker-1_train_pytorch-{'a1' * 32}.log"
    link.parent.mkdir()
    link.symlink_to(tmp_path / "pods" / "0.log")
    (log,) = found(tmp_path, "pods", f"containers/{templates.CONTAINERS}", run="").values()
    assert (log.run, log.path) == ("gpt", link)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("/a/{rnk}.log", r"has no meaning for \{rnk\}; did you mean \{rank\}\?"),
        ("/a/{zzz}.log", r"known: attempt, channel, container"),
        ("/a/{rank.log", "a brace without its partner"),
    ],
)
def test_a_wrong_name_is_named(text, error):
    with pytest.raises(AppError, match=error):
        templates.parse(text)


@pytest.mark.parametrize(
    ("zone", "offset_s"),
    [("", 0), ("+01:00", 3600), ("-0530", -19_800), ("Europe/Paris", 3600), ("UTC", 0)],
)
def test_a_zone_is_an_offset_or_a_place(zone, offset_s):
    check_zone(zone, "zone")
    assert zone_offset_s(zone, 1_795_982_000) == offset_s


def test_an_unknown_zone_is_named():
    with pytest.raises(AppError, match="zone: is no zone: 'Paris'"):
        check_zone("Paris", "zone")
