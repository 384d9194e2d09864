"""workers.demo.script and workers.demo.replay: files grow again as they grew."""

import json
import threading
import time
from pathlib import PurePosixPath

import pytest

from workers.demo import recordings
from workers.demo.folder import EVENTS, read_folder
from workers.demo.replay import Timing, play, time_shift_ns
from workers.demo.script import Action, Script, script_of

S = 1_000_000_000
LOG = PurePosixPath("gpu-a01/console.log")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return read_folder(recordings.unpack("sdc_rollback", tmp_path_factory.mktemp("runs")))


def small(*seconds):
    actions = tuple(Action(at * S, LOG, f"{at}\n".encode()) for at in seconds)
    return Script(actions, 100 * S, 200 * S)


def at_once(script, into):
    return play(script, into, Timing(0, 1.0), threading.Event())


@pytest.mark.parametrize("number", [1, 2])
def test_every_file_comes_out_byte_for_byte(run, tmp_path, number):
    start = run.starts[number - 1]

    assert at_once(script_of(run, start), tmp_path)

    host = start.hosts[0]
    logs = sorted(path.relative_to(host.torchrun) for path in host.torchrun.rglob("*.log"))
    played = tmp_path / host.node
    assert [(played / "torchrun" / path).read_bytes() for path in logs] == [
        (host.torchrun / path).read_bytes() for path in logs
    ]
    assert (played / "console.log").read_bytes() == host.console.read_bytes()
    assert next(played.rglob("*.wandb")).read_bytes() == start.wandb.read_bytes()


def test_checkpoints_are_split_between_the_starts_with_their_metadata(run, tmp_path):
    at_once(script_of(run, run.starts[0]), tmp_path / "1")
    at_once(script_of(run, run.starts[1]), tmp_path / "2")

    first = (tmp_path / "1/gpu-a01/checkpoint_events.jsonl").read_bytes()
    second = (tmp_path / "2/gpu-a01/checkpoint_events.jsonl").read_bytes()
    assert first + second == run.events.read_bytes()
    assert first.count(b"\n") == 8
    assert (tmp_path / "1/gpu-a01/checkpoints/step-600/.metadata").stat().st_size == 84_985


def test_a_start_that_follows_an_order_saves_into_its_branch(run):
    script = script_of(run, run.starts[1], "/data/ckpt.rollback-7")
    events = [json.loads(a.data) for a in script.actions if a.path.name == EVENTS]
    assert events
    assert {event["path"] for event in events} == {
        f"/data/ckpt.rollback-7/step-{event['step']}" for event in events
    }


def test_the_set_up_of_the_first_start_is_skipped_and_that_of_a_restart_is_not(run):
    first, second = (script_of(run, start) for start in run.starts)

    assert 5 * S < first.from_ns - run.starts[0].started_ns < 6 * S
    assert run.starts[1].started_ns - second.from_ns == S


def test_actions_are_in_order_of_time_and_the_corruption_comes_within_a_minute(run):
    script = script_of(run, run.starts[0])
    times = [action.at_ns for action in script.actions]
    at = next(a.at_ns for a in script.actions if b"step 700 " in a.data)

    assert times == sorted(times)
    assert 50 * S < at - script.from_ns < 55 * S


def test_a_wandb_file_grows_by_whole_blocks(run):
    script = script_of(run, run.starts[0])
    sizes = [len(a.data) for a in script.actions if a.path.suffix == ".wandb"]

    assert set(sizes[:-1]) == {32_768}


def test_an_action_waits_for_its_time(tmp_path):
    timing = Timing(time.time_ns(), speed=10.0)

    assert play(small(101, 103), tmp_path, timing, threading.Event())
    assert time.time_ns() - timing.begun_ns >= 0.3 * S


def test_a_stopped_replay_says_so_and_writes_no_more(tmp_path):
    stop = threading.Event()
    stop.set()

    assert not play(small(101), tmp_path, Timing(time.time_ns(), 1.0), stop)
    assert not (tmp_path / LOG).exists()


@pytest.mark.parametrize("done", [b"", b"101\n", b"101\n10", b"101\n102\n103\n"])
def test_an_interrupted_replay_goes_on_where_the_file_ends(tmp_path, done):
    (tmp_path / LOG).parent.mkdir()
    (tmp_path / LOG).write_bytes(done)

    at_once(small(101, 102, 103), tmp_path)

    assert (tmp_path / LOG).read_bytes() == b"101\n102\n103\n"


@pytest.mark.parametrize(
    ("speed", "catch_up", "first_s", "last_s"),
    [(1.0, True, 0, 100), (1.0, False, 0, 100), (10.0, True, -90, 10), (10.0, False, 0, 100)],
)
def test_recorded_times_become_times_of_today(speed, catch_up, first_s, last_s):
    script, begun = small(101), 5_000 * S
    shift = time_shift_ns(script, Timing(begun, speed), catch_up=catch_up)

    assert script.from_ns + shift == begun + first_s * S
    assert script.end_ns + shift == begun + last_s * S


def test_a_slow_replay_never_runs_ahead_of_the_clock():
    script, begun = small(101), 5_000 * S
    shift = time_shift_ns(script, Timing(begun, 0.5), catch_up=True)

    assert script.from_ns + shift == begun
