"""runs.domain.state.run_state"""

import pytest

from apps.runs.domain.state import NO_CONTACT_S, run_state


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
