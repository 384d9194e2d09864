"""ingest.wandb.lineage: which attempt holds a step of a run that was restarted and rewound."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.ingest.wandb.lineage import holder, line_to, newest_of
from apps.runs.records import AttemptInfo


def attempt(number, parent, fork, first, last):
    return AttemptInfo(1, number, parent, fork, first, last, 0, 0, "ended")


FIRST = attempt(0, None, None, 10, 1_000)
REWOUND = attempt(1, 0, 501, 510, 800)
ANEW = attempt(2, 1, 0, 0, 50)
SILENT = attempt(1, 0, 501, None, None)


@pytest.mark.parametrize(
    ("attempts", "step", "held"),
    [
        ([], 5, None),
        ([FIRST], 9, None),
        ([FIRST], 10, 0),
        ([FIRST], 1_000, 0),
        ([FIRST], 1_001, None),
        ([FIRST, REWOUND], 500, 0),
        ([FIRST, REWOUND], 505, 1),
        ([FIRST, REWOUND], 900, 0),
        ([FIRST, REWOUND, ANEW], 30, 2),
        ([FIRST, REWOUND, ANEW], 600, 1),
        ([FIRST, SILENT], 501, 0),
        ([FIRST, attempt(1, 0, 1_100, 1_100, 1_200)], 1_050, 0),
    ],
)
def test_the_history_comes_before_what_was_given_up(attempts, step, held):
    assert holder(attempts, step) == held


def test_the_line_runs_from_the_newest_that_began_to_the_first():
    attempts = [FIRST, SILENT, attempt(2, 1, None, None, None)]
    assert newest_of(attempts) == 1
    assert line_to(attempts, 1) == [SILENT, FIRST]


@st.composite
def runs(draw):
    """Attempts as rewinds make them."""
    found = [attempt(0, None, None, 0, draw(st.integers(0, 50)))]
    for number in range(1, draw(st.integers(1, 6))):
        step = draw(st.integers(0, max(a.last_step for a in found)))
        first = step + draw(st.integers(1, 5))
        last = first + draw(st.integers(0, 50))
        found.append(attempt(number, holder(found, step), step + 1, first, last))
    return found


@given(runs(), st.integers(0, 300))
def test_every_step_up_to_the_last_is_held_and_none_beyond(attempts, step):
    held = holder(attempts, step)
    assert (held is not None) == (step <= max(a.last_step for a in attempts))
    assert held is None or attempts[held].first_step <= step or attempts[held].fork_step <= step
