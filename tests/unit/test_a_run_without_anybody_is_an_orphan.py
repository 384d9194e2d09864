"""runs.domain.orphan: GPUs may burn, and nobody looks after them."""

from dataclasses import replace

import pytest

from apps.runs.domain.orphan import ORPHAN_NS, Care, Orphan, orphan

NOW = 10 * ORPHAN_NS
ALONE = Care(
    state="running",
    owner="",
    taken_by="",
    started_by="",
    told=False,
    started_ns=0,
    last_row_ns=NOW - 1,
    heard_ns=NOW,
)
STILL = replace(ALONE, last_row_ns=NOW - ORPHAN_NS - 1, started_by="ada@lab", told=True)


@pytest.mark.parametrize("state", ["running", "no_contact"])
def test_a_job_that_makes_no_step_is_one_whoever_started_it(state):
    assert orphan(replace(STILL, state=state), NOW) is Orphan.STALLED


def test_a_job_that_never_logged_a_row_is_judged_by_when_it_was_heard_of():
    silent = replace(STILL, last_row_ns=None)
    assert orphan(silent, NOW) is None
    assert orphan(replace(silent, heard_ns=0), NOW) is Orphan.STALLED


def test_a_job_that_trains_is_one_if_nobody_would_hear_of_it():
    assert orphan(ALONE, NOW) is Orphan.UNHEARD


@pytest.mark.parametrize(
    "but", [{"started_by": "ada@lab"}, {"told": True}, {"started_ns": NOW - ORPHAN_NS}]
)
def test_a_job_that_trains_and_is_somebodys_business_is_none(but):
    assert orphan(replace(ALONE, **but), NOW) is None


@pytest.mark.parametrize("case", [ALONE, STILL])
@pytest.mark.parametrize(
    "but",
    [{"owner": "ada"}, {"taken_by": "ada"}, *({"state": s} for s in ("finished", "failed"))],
)
def test_a_job_that_somebody_has_taken_or_that_ended_is_none(case, but):
    assert orphan(replace(case, **but), NOW) is None
