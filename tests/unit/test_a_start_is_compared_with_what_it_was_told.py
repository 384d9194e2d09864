"""Where a restart begins and saves, against the order it follows."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.rollbacks.domain.arrival import Loaded, Start, Told, judge

TOLD = Told("RB-7", 900, "/data/ckpt/step-900", "/data/ckpt.rollback-7", True, 1250)
LATER = replace(TOLD, fresh=False)


def start(first_step, **fields):
    """The second start of a run, whose first one came to step 1250."""
    values = {"attempt": 2, "seen_step": first_step + 20, "interval_steps": 1,
              "started_ns": 1, "seen_ns": 2, "whole_step": 1200, "before_step": 1250}  # fmt: skip
    return Start(first_step=first_step, **values | fields)


def said(found):
    """(kind, severity, title) of each finding."""
    return [(one.kind, one.severity.value, one.title) for one in found]


@pytest.mark.parametrize(
    ("first_step", "interval"), [(900, 1), (901, 1), (910, 10), (905, 10), (900, 10)]
)
def test_the_row_behind_the_ordered_step_is_the_right_one(first_step, interval):
    assert judge(start(first_step, interval_steps=interval), TOLD) == []


@pytest.mark.parametrize("first_step", [0, 1, 450, 899, 902, 1201])
def test_a_start_at_another_step_pages(first_step):
    assert said(judge(start(first_step), TOLD)) == [
        ("wrong_start", "page", f"attempt 2 began at step {first_step:,}, RB-7 says 900")
    ]


@pytest.mark.parametrize(
    "loaded",
    [
        Loaded(900, "/data/ckpt/step-900"),
        Loaded(900, None),
        Loaded(900, "/mounted/elsewhere/ckpt.rollback-7"),
        Loaded(None, "/mounted/elsewhere/ckpt.rollback-7/step-900/model"),
        Loaded(None, "ckpt.rollback-7/step-900"),
    ],
)
def test_the_ordered_checkpoint_may_be_named_under_any_mount_point(loaded):
    assert judge(start(901, loaded=[loaded]), TOLD) == []


@pytest.mark.parametrize(
    ("loaded", "what"),
    [
        (Loaded(1200, None), "step 1,200"),
        (Loaded(1200, "/data/ckpt/step-1200"), "/data/ckpt/step-1200"),
        (Loaded(None, "/data/other/weights"), "/data/other/weights"),
    ],
)
def test_a_start_that_loads_something_else_pages_whatever_its_step(loaded, what):
    title = f"attempt 2 has loaded {what}, RB-7 names another checkpoint"
    assert said(judge(start(901, loaded=[loaded]), TOLD)) == [("wrong_start", "page", title)]
    assert judge(start(901, loaded=[loaded, Loaded(900, None)]), TOLD) == []


def test_saves_among_those_of_the_abandoned_attempt_are_a_warning():
    own = start(901, saved=[(960, "/data/ckpt.rollback-7/step-960")])
    assert judge(own, TOLD) == []
    among = replace(own, saved=[(960, "/data/ckpt/step-960"), (980, "/data/ckpt/step-980")])
    (found,) = judge(among, TOLD)
    assert said([found]) == [
        ("wrong_folder", "warn", "attempt 2 saves into the directory of the abandoned attempt")
    ]
    assert found.evidence[0].text.startswith(
        "step 960 was saved as /data/ckpt/step-960; the branch"
    )


def test_a_later_restart_that_picks_the_abandoned_branch_pages():
    undone = start(1201, before_step=980, whole_step=960)
    ((kind, severity, title),) = said(judge(undone, LATER))
    assert (kind, severity) == ("wrong_start", "page")
    assert title == "attempt 2 began at step 1,201, which the branch of RB-7 has not reached"


def test_a_later_restart_at_the_ordered_step_pages_once_the_branch_has_more():
    again = start(901, before_step=980, whole_step=960)
    ((kind, _, title),) = said(judge(again, LATER))
    assert (kind, title) == ("wrong_start", "attempt 2 began at step 901 of RB-7 again")
    assert judge(replace(again, whole_step=900), LATER) == []


def test_a_later_restart_from_the_branch_is_right():
    assert judge(start(961, before_step=980, whole_step=960), LATER) == []


@pytest.mark.parametrize("told", [None, LATER])
def test_a_restart_from_the_beginning_is_a_warning_where_it_could_go_on(told):
    ((_, severity, title),) = said(judge(start(1), told))
    assert (severity, title) == ("warn", "attempt 2 began at step 1, not from a checkpoint")
    assert judge(start(1, whole_step=None), told) == []


def test_a_restart_without_an_order_may_begin_anywhere_else():
    assert judge(start(1201), None) == judge(start(500), None) == []


@given(st.integers(0, 2000), st.integers(1, 50), st.integers(0, 50), st.booleans())
def test_whoever_follows_the_order_is_never_accused(step, interval, ahead, printed):
    told = replace(TOLD, step=step, uri=f"/data/ckpt/step-{step}")
    loaded = [Loaded(step, f"{told.branch}/step-{step}")] if printed else []
    saved = [(step + 100, f"{told.branch}/step-{step + 100}")]
    good = start(step + min(ahead, interval), interval_steps=interval, loaded=loaded, saved=saved)
    assert judge(good, told) == []
