"""incidents.domain.state."""

import pytest

from apps.core.errors import AppError
from apps.incidents.domain.incident import IncidentState, Resolution
from apps.incidents.domain.state import Act, Standing, transition

OPEN, ACKNOWLEDGED, RESOLVED = IncidentState
CLOSED = Resolution.CLOSED


@pytest.mark.parametrize(
    "state,act,after",
    [
        (OPEN, Act.ACKNOWLEDGE, ACKNOWLEDGED),
        (OPEN, Act.RESOLVE, RESOLVED),
        (ACKNOWLEDGED, Act.RESOLVE, RESOLVED),
    ],
)
def test_the_allowed_changes(state, act, after):
    standing = transition(Standing(state), act, Resolution.MANUAL)
    assert standing is not None and standing.state is after


def test_an_episode_that_ended_by_itself_may_come_back():
    assert transition(Standing(RESOLVED, CLOSED), Act.REOPEN) == Standing(OPEN)


@pytest.mark.parametrize("how", [Resolution.MANUAL, Resolution.RECOVERED])
def test_what_a_person_or_a_rollback_ended_stays_ended(how):
    with pytest.raises(AppError, match=f'resolved as "{how}" is not reopened'):
        transition(Standing(RESOLVED, how), Act.REOPEN)


def test_a_resolved_incident_cannot_be_acknowledged():
    with pytest.raises(AppError, match="a resolved incident cannot be changed by acknowledge"):
        transition(Standing(RESOLVED, CLOSED), Act.ACKNOWLEDGE)


def test_a_resolution_needs_a_reason():
    with pytest.raises(ValueError, match="a resolution needs a reason"):
        transition(Standing(OPEN), Act.RESOLVE)


@pytest.mark.parametrize(
    "state,act",
    [
        (OPEN, Act.REOPEN),
        (ACKNOWLEDGED, Act.ACKNOWLEDGE),
        (RESOLVED, Act.RESOLVE),
    ],
)
def test_doing_it_twice_changes_nothing_more(state, act):
    assert transition(Standing(state, CLOSED), act, CLOSED) is None
