"""dashboard.board_order: critical, no contact, warning, running, ended; each run once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.dashboard.board_order import (
    CRITICAL,
    ENDED,
    RUNNING,
    SETTLED,
    SILENT,
    WARNING,
    Place,
    narrowed,
    ordered,
    read_place,
    urgency,
)

LEVELS = st.dictionaries(
    st.integers(1, 500), st.sampled_from([CRITICAL, SILENT, WARNING, RUNNING, ENDED])
)


@pytest.mark.parametrize(
    ("state", "page", "level"),
    [
        ("finished", True, CRITICAL),
        ("no_contact", None, SILENT),
        ("failed", None, SILENT),
        ("no_contact", False, SILENT),
        ("running", False, WARNING),
        ("finished", False, WARNING),
        ("running", None, RUNNING),
        ("waiting", None, RUNNING),
        ("finished", None, ENDED),
        ("stopped", None, ENDED),
    ],
)
def test_an_incident_makes_a_run_more_urgent_never_less(state, page, level):
    assert urgency(state, page) == level


@given(LEVELS, st.integers(1, 7))
def test_page_after_page_shows_each_run_once_and_in_order(levels, size):
    seen, after = [], None
    while page := ordered(levels, after)[:size]:
        seen += page
        after = page[-1]
    assert [place.run_id for place in seen] == sorted(levels, key=lambda r: (levels[r], -r))


@given(st.integers(0, 9), st.integers(0, 2**63 - 1))
def test_a_place_reads_back_from_an_address(level, run_id):
    assert read_place(str(Place(level, run_id))) == Place(level, run_id)


@pytest.mark.parametrize(
    "text", ["", "7", "-", "1-", "-1", "10-4", "1-x", "1-99999999999999999999"]
)
def test_what_is_no_place_is_none(text):
    assert read_place(text) is None


def test_the_settled_come_last():
    assert Place(SETTLED, 10**6).key > Place(ENDED, 1).key


def test_a_list_is_narrowed_by_name():
    levels = {1: CRITICAL, 2: SILENT, 3: WARNING, 4: RUNNING, 5: ENDED}
    shown = {name: sorted(narrowed(levels, {4, 9}, name)) for name in ("", "attention", "running")}
    assert shown == {"": [1, 2, 3, 4, 5], "attention": [1, 2, 3], "running": [4]}
    assert sorted(narrowed(levels, {4, 9}, "orphans")) == [4]
    assert sorted(narrowed(levels, (), "ended")) == [5]
