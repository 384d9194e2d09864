"""The rounds of a puller: what fails is told and waits, the rest goes on."""

import threading

import pytest

from apps.core.errors import AppError
from tests.puller_ends import FakeRun, FakeTarget
from workers.puller import loop
from workers.puller.loop import Puller, Settings
from workers.puller.memory import Memory


class FakeSource:
    def __init__(self, *runs, failures=0):
        self.found, self.failures = runs, failures

    def runs(self):
        if self.failures:
            self.failures -= 1
            raise OSError("away")
        return self.found

    def name_of(self, run_id):
        return f"there/p/{run_id}"


def puller(source, target, tmp_path, **settings):
    return Puller(Settings("p", poll_s=0.0, **settings), source, target, Memory(tmp_path))


def named(run_id, steps=3):
    run = FakeRun(run_id, state="finished")
    run.log(range(steps))
    return run


class Broken(FakeRun):
    def described(self):
        raise ValueError("no such field")


def test_a_run_that_fails_is_told_of_and_the_others_go_on(tmp_path):
    broken, target = Broken("bad"), FakeTarget()
    made = puller(FakeSource(named("a"), broken, named("b")), target, tmp_path)
    assert not made.run(threading.Event(), once=True)
    assert [target.steps(key) for key in ("a", "b")] == [[0, 1, 2], [0, 1, 2]]
    assert ("bad", -1, None, "no such field") in target.reports
    assert made.troubles["bad"].failures == 1


def test_a_failed_run_waits_longer_each_time_and_is_forgiven(tmp_path, monkeypatch):
    monkeypatch.setattr(loop, "FIRST_PAUSE_S", 0.0)
    broken, target = Broken("bad"), FakeTarget()
    made = puller(FakeSource(broken), target, tmp_path)
    for failures in (1, 2):
        made.run(threading.Event(), once=True)
        assert made.troubles["bad"].failures == failures
    broken.described = FakeRun().described
    assert made.run(threading.Event(), once=True)
    assert made.troubles == {}


def test_a_source_that_is_away_is_asked_again(tmp_path):
    target = FakeTarget()
    assert puller(FakeSource(named("a"), failures=2), target, tmp_path).run(
        threading.Event(), once=True
    )
    assert target.steps("a") == [0, 1, 2]


def test_a_source_that_stays_away_ends_a_puller_that_runs_once(tmp_path):
    made = puller(FakeSource(failures=99), FakeTarget(), tmp_path)
    assert not made.run(threading.Event(), once=True)


def test_only_the_runs_asked_for_are_mirrored_under_the_prefix(tmp_path):
    target = FakeTarget()
    source = FakeSource(named("a"), named("b"))
    assert puller(source, target, tmp_path, prefix="m-", only=("b",)).run(
        threading.Event(), once=True
    )
    assert list(target.attempts) == ["m-b"]


def test_an_id_that_is_no_run_key_is_told_and_sent_nowhere(tmp_path):
    target = FakeTarget()
    made = puller(FakeSource(named("a b"), named("c")), target, tmp_path)
    assert not made.run(threading.Event(), once=True)
    assert (list(target.attempts), list(made.troubles)) == (["c"], ["a b"])


def test_what_is_complete_is_not_sent_again(tmp_path):
    target = FakeTarget()
    made = puller(FakeSource(named("a")), target, tmp_path)
    assert made.run(threading.Event(), once=True)
    reports = len(target.reports)
    assert made.run(threading.Event(), once=True)
    assert len(target.reports) == reports


def test_a_state_folder_serves_one_puller_at_a_time(tmp_path):
    first = Memory(tmp_path)
    with pytest.raises(AppError, match="another puller"):
        Memory(tmp_path)
    first.close()
    Memory(tmp_path).close()


def test_a_damaged_memory_says_what_to_do(tmp_path):
    memory = Memory(tmp_path)
    (tmp_path / "r.json").write_text("{")
    with pytest.raises(AppError, match="--adopt"):
        memory.load("r")
