"""Mirror over both ends in memory: growth, ends, steps back, and kills anywhere."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.core.errors import AppError
from tests.puller_ends import FakeRun, FakeTarget, Killed
from workers.puller import mirror
from workers.puller.memory import Memory
from workers.puller.mirror import Mirror
from workers.puller.records import Spot

SPOT = Spot("p", "r", "there/p/r")


@pytest.fixture
def memory(tmp_path):
    return Memory(tmp_path)


def pull(run, target, memory, adopt=False, batches=100):
    return Mirror(run, SPOT, target, memory, adopt=adopt).turn(batches)


def test_everything_of_a_run_is_sent(memory):
    run, target = FakeRun(state="failed"), FakeTarget()
    run.log(range(2_500))
    run.system = [{"_timestamp": 5.0, "system.cpu": 1}]
    run.printed = ["a", "b"]
    assert pull(run, target, memory)
    files = target.attempts["r"][0]
    assert target.steps("r") == [*range(2_500)]
    assert (len(files["wandb-events.jsonl"]), list(files["output.log"].values())) == (1, ["a", "b"])
    assert target.ends["r"] == {"complete": True, "exitcode": 1}
    assert Mirror(run, SPOT, target, memory, adopt=False).is_complete


def test_a_run_that_goes_on_after_its_end_opens_an_attempt_and_counts_on(memory):
    run, target = FakeRun(state="finished"), FakeTarget()
    run.log(range(5))
    pull(run, target, memory)
    run.log(range(5, 9))
    pull(run, target, memory)
    assert [target.steps("r", attempt) for attempt in (0, 1)] == [[*range(5)], [*range(9)]]


def test_a_crash_is_a_silence_and_no_end(memory):
    run, target = FakeRun(state="crashed"), FakeTarget()
    run.log(range(5))
    pull(run, target, memory)
    assert target.ends["r"] == {}


@pytest.mark.parametrize(("fork", "first"), [(60, 51), (5, 0), (0, 0)])
def test_a_history_that_goes_back_begins_at_a_row_both_have(memory, monkeypatch, fork, first):
    monkeypatch.setattr(mirror, "BATCH_LINES", 10)
    run, target = FakeRun(), FakeTarget()
    run.log(range(1, 101))
    run.printed = ["a"]
    pull(run, target, memory)
    run.history = run.history[: max(fork - 1, 0)]
    run.log(range(max(fork, 1), 90), salt=0.5)
    run.printed.append("b")
    pull(run, target, memory)
    assert target.steps("r", 0) == [*range(1, 101)]
    assert target.steps("r", 1) == [*range(max(first, 1), 90)]
    assert list(target.attempts["r"][1]["output.log"].values()) == ["b"]


def test_a_long_history_is_sent_in_turns(memory):
    run, target = FakeRun(), FakeTarget()
    run.log(range(2_500))
    assert not pull(run, target, memory, batches=1)
    assert target.steps("r") == [*range(1_000)]
    assert pull(run, target, memory)
    assert target.steps("r") == [*range(2_500)]


def test_a_run_that_is_no_mirror_is_left_alone(memory):
    run, target = FakeRun(), FakeTarget()
    run.log(range(3))
    target.attempts["r"] = [{}]
    with pytest.raises(AppError, match="not mirrored from this state folder"):
        pull(run, target, memory)
    assert pull(run, target, memory, adopt=True)


STORY = st.lists(
    st.tuples(st.integers(0, 40), st.integers(0, 12), st.booleans(), st.booleans()), max_size=8
)


@given(STORY)
@settings(max_examples=60, deadline=None)
def test_kills_anywhere_lose_and_double_nothing(story):
    """Each chapter: rows are logged, the puller dies within some requests, is started again."""
    run, target = FakeRun(), FakeTarget()
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(mirror, "BATCH_LINES", 7)
        for grown, kill_after, early, finished in story:
            first = len(run.history)
            run.log(range(first, first + grown))
            run.printed += [str(n) for n in range(grown)]
            run.system.append({"_timestamp": float(len(run.system))})
            run.state = "finished" if finished else "running"
            target.kill_after, target.early = kill_after, early
            _until_killed(run, target, Path(folder))
        target.kill_after = None
        _until_killed(run, target, Path(folder))
    files = target.attempts["r"][-1]
    assert target.steps("r") == [row["_step"] for row in run.history]
    assert [files.get("output.log", {})[n] for n in range(len(run.printed))] == run.printed
    assert len(files.get("wandb-events.jsonl", {})) == len(run.system)


def _until_killed(run, target, folder):
    memory = Memory(folder)
    try:
        pull(run, target, memory)
    except Killed:
        pass
    finally:
        memory.close()
