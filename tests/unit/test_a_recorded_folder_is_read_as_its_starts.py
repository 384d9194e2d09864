"""workers.demo.folder: which files of a recorded run belong to which start and host."""

import pytest

from apps.core.errors import AppError
from tests.agents import append, lines
from workers.demo import recordings
from workers.demo.folder import read_folder


def names(run):
    return [
        (
            start.number,
            start.resume_step,
            start.wandb and start.wandb.parent.name[-13:],
            [(h.node, h.torchrun.name, h.console and h.console.name) for h in start.hosts],
        )
        for start in run.starts
    ]


def stderr(folder, logs, data, rank=0):
    path = folder / logs / "job" / "attempt_0" / str(rank) / "stderr.log"
    path.parent.mkdir(parents=True)
    append(path, data)


def test_one_host_takes_its_name_from_the_lines(tmp_path):
    run = read_folder(recordings.unpack("lrbump", tmp_path))

    assert names(run) == [
        (1, None, "193852-lrbump", [("gpu-a01", "torchrun", "console.log")]),
        (2, 900, "194113-lrbump", [("gpu-a01", "torchrun-2", "console-2.log")]),
    ]
    assert [start.started_ns for start in run.starts] == [
        1_795_981_126_739_000_000,
        1_795_981_265_115_000_000,
    ]
    assert (run.events.name, run.unread) == ("checkpoint_events.jsonl", ())


def test_a_restart_may_use_other_hosts(tmp_path):
    run = read_folder(recordings.unpack("sdc_rollback", tmp_path))

    assert [[host.node for host in start.hosts] for start in run.starts] == [
        ["gpu-a01", "gpu-b02"],
        ["gpu-a01", "gpu-b03"],
    ]
    assert [start.resume_step for start in run.starts] == [None, 600]


@pytest.mark.parametrize("name", ["badbatch", "quiet", "hang_r5", "exc_r6"])
def test_other_recordings_have_one_start_with_metrics(name, tmp_path):
    run = read_folder(recordings.unpack(name, tmp_path))

    assert len(run.starts) == 1
    assert run.starts[0].wandb is not None
    assert run.unread == ()


def test_a_host_whose_name_ends_in_2_is_no_second_start(tmp_path):
    stderr(tmp_path, "node-1", lines(0, 30))
    stderr(tmp_path, "node-2", lines(0, 30))

    (start,) = read_folder(tmp_path).starts

    assert [host.node for host in start.hosts] == ["node-1", "node-2"]


def test_logs_without_any_stamp_are_one_start(tmp_path):
    stderr(tmp_path, "torchrun", b"hello\n")

    (start,) = read_folder(tmp_path).starts

    assert start.hosts[0].node == "localhost"


def test_a_console_of_no_start_is_named(tmp_path):
    stderr(tmp_path, "gpu-a01", lines(0, 30))
    append(tmp_path / "console-gpu-z99.log", b"x\n")

    assert read_folder(tmp_path).unread == ("console-gpu-z99.log",)


def test_metrics_alone_are_starts_in_order_of_time(tmp_path):
    whole = recordings.unpack("lrbump", tmp_path)
    (whole / "wandb").rename(tmp_path / "bare")
    (tmp_path / "only").mkdir()
    (tmp_path / "bare").rename(tmp_path / "only" / "wandb")

    starts = read_folder(tmp_path / "only").starts

    assert [(start.number, start.resume_step) for start in starts] == [(1, None), (2, 900)]


@pytest.mark.parametrize(
    ("folder", "message"),
    [
        ("nowhere", r"nowhere: is not a folder; give the folder of one run"),
        ("", r"holds neither torchrun logs .* nor wandb/\*/run-\*\.wandb; give the folder of one"),
    ],
)
def test_a_wrong_folder_says_what_is_missing(tmp_path, folder, message):
    with pytest.raises(AppError, match=message):
        read_folder(tmp_path / folder)
