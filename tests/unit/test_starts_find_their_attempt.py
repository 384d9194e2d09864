"""runs.domain.attempts.place_launch"""

from dataclasses import replace

from apps.runs.domain.attempts import Joined, place_launch
from apps.runs.records import AttemptInfo, LaunchSeen

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
    assert place_launch(start("wandb", 5), [], frozenset()) == Joined(0, new=True)


def test_another_node_of_the_same_launch_joins():
    taken = frozenset({(0, "torchrun:a")})
    assert place_launch(start("torchrun:b", 1003), [A0], taken) == Joined(0, new=False)


def test_a_second_start_of_a_slot_opens_the_next_attempt():
    taken = frozenset({(0, "torchrun:a")})
    assert place_launch(start("torchrun:a", 1010), [A0], taken) == Joined(1, new=True)


def test_a_new_node_of_a_restart_does_not_fall_into_the_old_attempt():
    taken = frozenset({(0, "torchrun:a"), (0, "torchrun:b")})
    assert place_launch(start("torchrun:c", 1087), [A0], taken) == Joined(1, new=True)


def test_the_nearest_attempt_with_a_free_slot_wins():
    taken = frozenset({(0, "torchrun:a"), (1, "torchrun:a")})
    assert place_launch(start("torchrun:c", 1086), [A0, A1], taken) == Joined(1, new=False)


def test_a_node_that_joins_late_joins_the_active_attempt():
    long = replace(A0, last_ns=9000 * S)
    assert place_launch(start("torchrun:z", 5000), [long], frozenset()) == Joined(0, new=False)


def test_a_start_that_resumes_never_joins_an_old_attempt():
    long = replace(A0, last_ns=9000 * S)
    late = start("torchrun:z", 5000, resume_step=700)
    assert place_launch(late, [long], frozenset()) == Joined(1, new=True)
