"""runs.domain.state.run_state"""

import pytest

from apps.runs.domain.state import NO_CONTACT_S, STALE_S, run_state, stale_after_s


@pytest.mark.parametrize(
    ("exit_code", "failed", "age_s", "state"),
    [
        (None, False, None, "waiting"),
        (None, False, 1.0, "running"),
        (None, False, NO_CONTACT_S + 1, "no_contact"),
        (None, True, 1.0, "failed"),
        (0, False, 9_999.0, "finished"),
        (255, False, 9_999.0, "stopped"),
        (1, True, 9_999.0, "failed"),
    ],
)
def test_the_state_follows_from_facts(exit_code, failed, age_s, state):
    found = run_state(exit_code=exit_code, failed=failed, last_contact_age_s=age_s)
    assert found == state


@pytest.mark.parametrize(
    ("usual_gap_s", "after_s"), [(None, STALE_S), (0.5, 10.0), (20.0, 60.0), (600.0, 1_800.0)]
)
def test_what_is_shown_is_old_after_a_few_usual_gaps(usual_gap_s, after_s):
    assert stale_after_s(usual_gap_s) == after_s
