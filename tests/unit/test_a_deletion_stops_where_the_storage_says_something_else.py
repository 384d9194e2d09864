"""When a checkpoint may be deleted, and in which order its files go."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.checkpoints.domain.deletion import State, in_order, moved, objection, safe_name
from apps.core.errors import Conflict

FILES = {".metadata": 10, "__0_0.distcp": 100, "__1_0.distcp": 100}
names = st.text(st.sampled_from("ab./\0_"), max_size=6)
files = st.dictionaries(st.sampled_from(["a", "b", "c", "d/e"]), st.integers(0, 2), max_size=4)


def test_exactly_what_is_registered_may_go():
    assert objection(FILES, FILES, begun=False) is None


@given(files, files, st.booleans())
def test_nothing_else_ever_does(registered, found, begun):
    if objection(registered, found, begun=begun) is None:
        assert found.items() <= registered.items()
        assert begun or found == registered
        assert registered


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ({**FILES, "notes.txt": 1}, "1 file more than registered: notes.txt"),
        ({**FILES, ".metadata": 11}, "1 file of another size than registered: .metadata"),
        ({".metadata": 10}, "2 registered files not there: __0_0.distcp, __1_0.distcp"),
    ],
    ids=["more", "other", "fewer"],
)
def test_the_objection_names_the_files(found, words):
    assert objection(FILES, found, begun=False) == words


def test_a_deletion_that_was_cut_short_goes_on():
    assert objection(FILES, {"__1_0.distcp": 100}, begun=True) is None
    assert objection(FILES, {"__1_0.distcp": 99}, begun=True) is not None


def test_a_checkpoint_whose_files_nobody_listed_is_left_alone():
    assert "nobody listed" in objection({}, {}, begun=False)


def test_a_register_that_leads_elsewhere_is_refused():
    odd = {"../other/x": 1}
    assert "leads out" in objection(odd, odd, begun=False)


@given(names)
def test_a_safe_name_stays_inside(name):
    depth = 0
    for part in name.split("/"):
        depth += -1 if part == ".." else part not in ("", ".")
        assert depth >= 0 or not safe_name(name)


@given(st.lists(st.sampled_from([*FILES, "state/.metadata", "rng_state_0.pth"]), unique=True))
def test_the_marker_goes_first_and_every_file_once(listed):
    markers, others = in_order(listed)
    assert sorted((*markers, *others)) == sorted(listed)
    assert all(name.endswith(".metadata") for name in markers)
    assert not any(name.endswith(".metadata") for name in others)


@pytest.mark.parametrize("after", [State.TAKEN_BACK, State.SPARED, State.WAITING])
def test_what_has_begun_cannot_be_taken_back(after):
    with pytest.raises(Conflict, match="the deletion is deleting"):
        moved(State.DELETING, after)


@pytest.mark.parametrize("before", [State.TAKEN_BACK, State.SPARED, State.REFUSED])
def test_what_was_not_deleted_may_be_planned_again(before):
    assert moved(before, State.WAITING) is State.WAITING


@pytest.mark.parametrize("after", list(State))
def test_what_is_gone_stays_gone(after):
    with pytest.raises(Conflict):
        moved(State.DELETED, after)
