"""When a checkpoint may be deleted, and in which order its files go."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.checkpoints.domain.deletion import State, in_order, moved, objection, safe_name
from apps.checkpoints.domain.tree import FileStat
from apps.core.errors import Conflict

LOOKED = 1_000


def stat(size, mtime_ns=5, etag=None):
    return FileStat(size, mtime_ns, etag)


FILES = {".metadata": stat(10), "__0_0.distcp": stat(100), "__1_0.distcp": stat(100)}
names = st.text(st.sampled_from("ab./\0_"), max_size=6)
stats = st.builds(stat, st.integers(0, 1), st.sampled_from([None, 5, 2_000]), st.none())
files = st.dictionaries(st.sampled_from(["a", "b", "d/e"]), stats, max_size=3)


def says(registered, found, *, begun=False):
    return objection(registered, found, looked_at_ns=LOOKED, begun=begun)


def test_exactly_what_is_registered_may_go():
    assert says(FILES, FILES) is None


@given(files, files, st.booleans())
def test_nothing_else_ever_does(registered, found, begun):
    if says(registered, found, begun=begun) is None:
        assert registered and found.keys() <= registered.keys()
        assert begun or found.keys() == registered.keys()
        assert all(one.size == registered[name].size for name, one in found.items())
        assert all((one.mtime_ns or 0) <= LOOKED for one in found.values())


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ({**FILES, "notes.txt": stat(1)}, "1 file more than registered: notes.txt"),
        ({**FILES, ".metadata": stat(11)}, "1 file not as registered: .metadata"),
        ({**FILES, ".metadata": stat(10, 6)}, "1 file not as registered: .metadata"),
        ({".metadata": stat(10)}, "2 registered files not there: __0_0.distcp, __1_0.distcp"),
    ],
    ids=["more", "other size", "other time", "fewer"],
)
def test_the_objection_names_the_files(found, words):
    assert says(FILES, found) == words


def test_a_deletion_that_was_cut_short_goes_on():
    assert says(FILES, {"__1_0.distcp": stat(100)}, begun=True) is None
    assert says(FILES, {"__1_0.distcp": stat(99)}, begun=True) is not None


def test_what_was_written_after_the_last_look_is_somebody_elses():
    bare = {".metadata": stat(10, None)}
    written = {".metadata": stat(10, LOOKED + 1)}
    assert says(bare, written) == "1 file written after the last look: .metadata"
    assert says(bare, {".metadata": stat(10, LOOKED)}) is None


def test_an_object_with_another_tag_is_another_object():
    registered, found = {"a": stat(1, 5, "x")}, {"a": stat(1, 5, "y")}
    assert says(registered, found) == "1 file not as registered: a"


def test_a_checkpoint_whose_files_nobody_listed_is_left_alone():
    assert "nobody listed" in says({}, {})


def test_a_register_that_leads_elsewhere_is_refused():
    odd = {"../other/x": stat(1)}
    assert "leads out" in says(odd, odd)


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
