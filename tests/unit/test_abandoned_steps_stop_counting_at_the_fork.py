import pytest

from apps.dashboard.lineage import kept_until
from apps.runs.records import AttemptInfo


def attempt(number, parent=None, fork=None):
    return AttemptInfo(1, number, parent, fork, fork or 0, 100, 0, 0, "ended")


@pytest.mark.parametrize(
    ("attempts", "kept"),
    [
        ([], {}),
        ([attempt(0)], {0: None}),
        ([attempt(0), attempt(1, 0, 60)], {0: 60, 1: None}),
        ([attempt(0), attempt(1, 0, None)], {0: None, 1: None}),
        ([attempt(0), attempt(1, 0, 60), attempt(2, 1, 40)], {0: 40, 1: 40, 2: None}),
        ([attempt(0), attempt(1, 0, 60), attempt(2, 0, 30)], {0: 30, 1: 0, 2: None}),
    ],
)
def test_an_attempt_counts_up_to_where_its_successor_forked_off(attempts, kept):
    assert kept_until(attempts) == kept
