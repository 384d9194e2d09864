"""runs.store: progress, configuration and placements of many batches, in any order."""

import pytest
from django.utils import timezone

from apps.runs import store
from apps.runs.records import PlacementInfo, Progress


@pytest.fixture
def run_id(db):
    made = store.ensure_run("r")
    store.open_attempt(made, 0, 10)
    return made


def say(run_id, attempt=0, **said):
    store.note_progress(run_id, attempt, Progress(**said), timezone.now())


def test_ranges_only_grow(run_id):
    say(run_id, first_step=50, last_step=60, last_ns=200, last_row_ns=100)
    say(run_id, first_step=10, last_step=20, last_ns=150, last_row_ns=50)
    say(run_id)
    (found,) = store.attempts(run_id)
    assert (found.first_step, found.last_step) == (10, 60)
    assert (found.last_ns, found.last_row_ns) == (200, 100)


def test_only_a_child_has_a_fork_step(run_id):
    store.open_attempt(run_id, 1, 20)
    say(run_id, first_step=5, last_step=9)
    say(run_id, attempt=1, first_step=7, last_step=8)
    say(run_id, attempt=1, first_step=6, last_step=6)
    assert [found.fork_step for found in store.attempts(run_id)] == [None, 6]


def test_an_exit_code_stays_until_another_is_said(run_id):
    say(run_id, exit_code=0)
    say(run_id, last_step=3)
    assert (store.attempts(run_id)[0].exit_code, store.get_run("r").state) == (0, "finished")


def test_a_later_value_of_a_key_wins_and_the_others_stay(run_id):
    say(run_id, config={"lr": 1e-4, "model": {"layers": 4}})
    say(run_id, config={"lr": "NaN"}, project="first", world_size=8)
    say(run_id, project="second")
    found = store.get_run("r")
    assert found.config == {"lr": "NaN", "model": {"layers": 4}}
    assert (found.project, found.world_size) == ("first", 8)


def test_a_placement_is_refined_and_never_emptied(run_id):
    store.record_placements(run_id, 0, [PlacementInfo(3, "a", 1, None)])
    store.record_placements(run_id, 0, [PlacementInfo(3, "a", None, "GPU-7")])
    store.record_placements(run_id, 0, [PlacementInfo(2, "b", 0, None)])
    assert list(store.placements(run_id, 0).values()) == [
        PlacementInfo(2, "b", 0, None),
        PlacementInfo(3, "a", 1, "GPU-7"),
    ]


def test_each_attempt_has_its_own_placements(run_id):
    store.record_placements(run_id, 0, [PlacementInfo(0, "a", 0)])
    store.record_placements(run_id, 1, [PlacementInfo(0, "b", 0)])
    assert store.placements(run_id, 1) == {0: PlacementInfo(0, "b", 0)}


def test_a_child_is_born_of_the_attempt_before_it(run_id):
    store.open_attempt(run_id, 5, 20)
    assert store.attempt(run_id, 5).parent == 0


def test_opening_an_attempt_again_changes_nothing(run_id):
    assert store.open_attempt(run_id, 0, 99).started_ns == 10


def test_the_list_shows_each_run_with_its_newest_attempt(run_id):
    other = store.ensure_run("s")
    store.open_attempt(run_id, 1, 20)
    say(run_id, last_step=90)
    say(run_id, attempt=1, last_step=40)
    assert [(run.id, run.last_step) for run in store.list_runs()] == [(other, None), (run_id, 40)]
    assert store.list_runs(before=other)[0].id == run_id
