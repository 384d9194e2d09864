"""runs.domain.attempts.place_launch"""

from dataclasses import replace

import pytest

from apps.runs.domain.attempts import Joined, place_launch
from apps.runs.records import AttemptInfo, LaunchSeen, Start

S = 1_000_000_000
A0 = AttemptInfo(
    run_id=1,
    number=0,
    parent=None,
    fork_step=None,
    first_step=0,
    last_step=800,
    started_ns=1000 * S,
    last_ns=1060 * S,
    state="running",
)
A1 = replace(A0, number=1, parent=0, started_ns=1087 * S, last_ns=1090 * S)


def start(slot, at_s, resume_step=None):
    return LaunchSeen(slot, f"{slot}@{at_s}", at_s * S, resume_step=resume_step)


def test_the_first_start_opens_attempt_0():
    assert place_launch(start("wandb", 5), [], []) == Joined(0, new=True)


def test_another_node_of_the_same_launch_joins():
    known = [Start(0, "torchrun:a")]
    assert place_launch(start("torchrun:b", 1003), [A0], known) == Joined(0, new=False)


def test_a_second_start_of_a_slot_opens_the_next_attempt():
    known = [Start(0, "torchrun:a")]
    assert place_launch(start("torchrun:a", 1010), [A0], known) == Joined(1, new=True)


def test_a_new_node_of_a_restart_does_not_fall_into_the_old_attempt():
    known = [Start(0, "torchrun:a"), Start(0, "torchrun:b")]
    assert place_launch(start("torchrun:c", 1087), [A0], known) == Joined(1, new=True)


def test_the_nearest_attempt_with_a_free_slot_wins():
    known = [Start(0, "torchrun:a"), Start(1, "torchrun:a")]
    assert place_launch(start("torchrun:c", 1086), [A0, A1], known) == Joined(1, new=False)


def test_a_node_that_joins_late_joins_the_active_attempt():
    long = replace(A0, last_ns=9000 * S)
    known = [Start(0, "torchrun:a")]
    assert place_launch(start("torchrun:z", 5000), [long], known) == Joined(0, new=False)


def test_a_start_that_resumes_never_joins_an_old_attempt():
    long = replace(A0, last_ns=9000 * S)
    late = start("torchrun:z", 5000, resume_step=700)
    assert place_launch(late, [long], []) == Joined(1, new=True)


def test_a_source_that_resumes_like_the_rest_of_its_attempt_joins_it():
    long = replace(A0, last_ns=9000 * S)
    known = [Start(0, "torchrun:a", 700)]
    late = start("torchrun:z", 5000, resume_step=700)
    assert place_launch(late, [long], known) == Joined(0, new=False)


def test_the_first_wandb_process_may_come_after_a_long_silence():
    known = [Start(0, "torchrun:a")]
    assert place_launch(start("wandb", 1060 + 1700), [A0], known) == Joined(0, new=False)


@pytest.mark.parametrize(
    ("at_s", "attempt", "known"),
    [
        (1060 + 1900, A0, [Start(0, "torchrun:a")]),
        (1100, replace(A0, state="failed"), [Start(0, "torchrun:a")]),
        (1100, A0, [Start(0, "torchrun:a"), Start(0, "wandb")]),
        (900, A0, [Start(0, "torchrun:a")]),
    ],
    ids=["too late", "the attempt died", "it has one already", "long before"],
)
def test_but_it_opens_an_attempt(at_s, attempt, known):
    assert place_launch(start("wandb", at_s), [attempt], known) == Joined(1, new=True)


def test_a_slot_also_runs_in_the_attempt_its_processes_went_on_with():
    went_on = [replace(A0, continued_by=1), A1]
    known = [Start(0, "wandb")]
    assert place_launch(start("wandb", 1100), went_on, known) == Joined(2, new=True)
