"""checkpoints.domain.storagewatch."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.checkpoints.domain.lifecycle import State
from apps.checkpoints.domain.saves import Training
from apps.checkpoints.domain.storageroom import Room
from apps.checkpoints.domain.storagewatch import (
    FEW,
    FULL,
    LOST,
    POINTER,
    RISKY,
    TREND,
    UNSEEN,
    Folder,
    Held,
    Said,
    Scene,
    judge,
)
from apps.core.records import FindingSeverity

T0 = 1_800_000_000_000_000_000
S = 1_000_000_000
TIB = 2**40
PAGE, WARN, INFO = FindingSeverity.PAGE, FindingSeverity.WARN, FindingSeverity.INFO


def held(step, state=State.COMMITTED, *, save_s=10.0, fatal=False, complete=None, at_s=None):
    """A job of two seconds a step that saves every 100."""
    saved_ns = T0 + 2 * step * S
    whole = state in (State.COMMITTED, State.VERIFIED) and not fatal
    return Held(
        attempt=0,
        step=step,
        saved_at_ns=saved_ns,
        save_s=save_s,
        size_bytes=TIB,
        state=state,
        complete=whole if complete is None else complete,
        fatal=fatal,
        path=f"/ckpt/step-{step}",
        why="it is gone" if state in (State.LOST, State.DELETED) else "",
        state_at_ns=saved_ns if at_s is None else T0 + at_s * S,
    )


def folder(**given):
    return Folder(7, "/ckpt", given.pop("looked_at_ns", T0 + 2_110 * S), **given)


def told(all_held, *folders, step=1_055, standing=()):
    now_ns = T0 + 2 * step * S
    scene = Scene(Training(0, 0, step, T0, now_ns), all_held, folders, now_ns, standing)
    return {found.kind: found for found in judge(scene)}


HEALTHY = [held(step) for step in range(100, 1_001, 100)]


def test_a_healthy_storage_is_silent():
    assert told(HEALTHY, folder()) == {}
    assert told([]) == {}
    assert told([held(100)], step=120) == {}


def test_none_left_pages_and_says_what_became_of_them():
    found = told([held(100, State.LOST), held(200, fatal=True)])[FEW]
    assert (found.severity, found.title) == (PAGE, "no complete checkpoint is left")
    texts = [e.text for e in found.evidence]
    assert texts == [
        "a fault now costs the whole run",
        "step 100 is lost: it is gone",
        "step 200 is damaged",
    ]


def test_one_left_pages_unless_rotation_keeps_one_on_purpose():
    assert told([held(100), held(200, fatal=True)])[FEW].severity is PAGE
    rotated = told([held(100, State.DELETED), held(200, State.DELETED), held(300)])[FEW]
    assert rotated.severity is WARN
    assert rotated.title == "only one complete checkpoint is left, of step 300"


def test_what_nobody_looked_at_is_not_missing():
    spoken = [held(step, complete=False) for step in (100, 200)]
    assert FEW not in told(spoken)


def test_a_save_under_way_is_neither_there_nor_missing():
    assert FEW not in told([held(100), held(200, State.COMMITTING)])


def test_a_loss_warns_and_the_loss_of_the_newest_pages():
    middle = [*HEALTHY[:5], held(600, State.LOST, at_s=2_105), *HEALTHY[6:]]
    assert told(middle)[LOST].severity is WARN
    newest = told([*HEALTHY[:-1], held(1_000, State.LOST, at_s=2_105)])[LOST]
    assert (newest.severity, newest.key) == (PAGE, "checkpoint_lost:a0:s1000")
    assert newest.title == "1 checkpoint went away unasked: step 1,000"


def test_a_loss_is_over_once_two_newer_ones_are_whole():
    lost = held(600, State.LOST, at_s=1_250)
    assert LOST in told([*HEALTHY[:5], lost, held(700)], step=720)
    assert LOST not in told([*HEALTHY[:5], lost, held(700), held(800)], step=820)


def rooms(*free):
    return tuple(
        Room(T0 + (2_110 - 60 * (len(free) - n - 1)) * S, int(f)) for n, f in enumerate(free)
    )


def test_a_save_that_will_not_fit_pages_before_it_is_due():
    found = told(HEALTHY, folder(rooms=rooms(TIB // 2, TIB // 2)))[FULL]
    assert (found.severity, found.key) == (PAGE, "storage_full:a0:r7")
    assert found.title == "the next save needs 1.0 TiB, 512 GiB will be free"
    assert found.facts["due_s"] == 90


def test_room_that_runs_out_within_five_saves_warns_and_ends_with_some_slack():
    """64 GiB a minute go, so 213 GiB from one save to the next."""
    step = 2**36
    going = folder(rooms=rooms(*(2 * TIB - n * step for n in range(6))))
    found = told(HEALTHY, going)[FULL]
    assert (found.severity, found.title) == (WARN, "room for 3 more saves of 1.0 TiB")
    assert "free space shrinks by 3.8 TiB an hour, whoever writes there" in [
        e.text for e in found.evidence
    ]
    more = folder(rooms=rooms(*(2.3 * TIB - n * step for n in range(6))))
    assert FULL not in told(HEALTHY, more)
    assert FULL in told(HEALTHY, more, standing=["storage_full:a0:r7"])


STALE = Said("STALE_LATEST", "latest names global_step9, which is not there", fatal=True)
BEHIND = Said(
    "LATEST_BEHIND", "latest names step 900, though step 1000 lies beside it", fatal=False
)


@pytest.mark.parametrize(("said", "severity"), [(STALE, PAGE), (BEHIND, WARN)])
def test_a_pointer_that_leads_elsewhere_is_told_once_it_had_time_to_be_written(said, severity):
    soon = folder(beside=(said,), looked_at_ns=T0 + 2_020 * S)
    assert POINTER not in told(HEALTHY, soon)
    found = told(HEALTHY, folder(beside=(said,)))[POINTER]
    assert (found.severity, found.evidence[0].text) == (severity, f"{said.code}: {said.message}")
    assert POINTER in told(HEALTHY, soon, standing=[found.key])


def test_debris_is_told_only_between_saves():
    left = Said(
        "STAGING_DEBRIS", "1 folder left by unfinished saves: tmp-checkpoint-9", fatal=False
    )
    assert told(HEALTHY, folder(beside=(left,)))[RISKY].severity is WARN
    while_saving = folder(beside=(left,), looked_at_ns=T0 + 2_190 * S)
    assert RISKY not in told(HEALTHY, while_saving, step=1_095)


def test_a_finding_begins_when_it_is_seen_so_that_every_checkpoint_may_be_gone_back_to():
    found = told(HEALTHY, folder(beside=(STALE,)))[POINTER]
    assert (found.onset_step, found.onset_time_ns) == (1_055, T0 + 2_110 * S)


def test_a_risky_mount_is_noted_and_warns_once_a_save_there_failed():
    risky = folder(warning="a bucket mounted as a folder: a rename copies and deletes")
    assert told(HEALTHY, risky)[RISKY].severity is INFO
    failed = told([*HEALTHY, held(1_050, State.FAILED)], risky)[RISKY]
    assert (failed.severity, failed.evidence[-1].text) == (WARN, "step 1,050 is failed")


def test_a_storage_that_cannot_be_looked_at_warns():
    found = told(HEALTHY, folder(trouble="permission denied"))[UNSEEN]
    assert (found.severity, found.evidence[0].text) == (WARN, "permission denied")


def test_saves_that_slowly_take_longer_are_told_with_the_pause_they_cost():
    growing = [held(100 * n, save_s=20.0 + 2 * n) for n in range(1, 31)]
    found = told(growing, step=3_010)[TREND]
    assert found.title == "saves take 1 min, 29 s when the run began"
    assert found.evidence[-1].text.startswith("where training waits for its saves that is 36 %")
    assert TREND not in told([held(100 * n) for n in range(1, 31)], step=3_010)


_states = st.sampled_from(list(State))
_held = st.lists(st.tuples(_states, st.booleans()), max_size=20).map(
    lambda drawn: [held(100 * n, s, fatal=f) for n, (s, f) in enumerate(drawn)]
)


@given(_held, st.integers(0, 3_000))
def test_keys_are_unique_and_two_whole_ones_never_alarm(all_held, step):
    found = told(all_held, folder(rooms=rooms(TIB)), step=step)
    keys = [one.key for one in found.values()]
    assert len(set(keys)) == len(keys)
    assert FEW not in found or sum(one.complete for one in all_held) < 2
