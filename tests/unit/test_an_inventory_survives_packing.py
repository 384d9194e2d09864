import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.checkpoints.domain.inventory import (
    MAX_FILES,
    Stamp,
    damage,
    differences,
    digest,
    of_listing,
    of_sizes,
    pack,
    rewritten,
    sizes,
    stamped,
    unpack,
)
from apps.core.errors import BadPayload

_name = st.text(st.characters(exclude_categories=("Cs",)), max_size=30)
_size = st.integers(min_value=0, max_value=2**63 - 1)
_files = st.dictionaries(_name, _size, max_size=30)
_stamp = st.builds(Stamp, _size, st.none() | _size, st.none() | st.text("0123456789abcdef-"))
_inventory = st.dictionaries(_name, _stamp, max_size=30)


@given(_inventory)
def test_every_inventory_comes_back_as_it_was(files):
    assert unpack(pack(files)) == files
    assert of_listing(files) == files


@given(_files)
def test_one_without_stamps_is_packed_as_it_always_was(files):
    assert pack(of_sizes(files))[:1] == b"\x01"
    assert sizes(unpack(pack(of_sizes(files)))) == files


@given(_files)
def test_the_order_of_the_files_does_not_change_the_digest(files):
    assert digest(dict(reversed(files.items()))) == digest(files)


@given(_files, _name, st.integers(min_value=0, max_value=1000))
def test_the_digest_changes_exactly_when_a_file_changes(files, name, size):
    changed = {**files, name: size}
    assert (digest(changed) == digest(files)) == (changed == files)
    assert bool(differences(files, changed)) == (changed != files)


def test_differences_are_sentences():
    before = {"a": 1, "b": 2, "c": 3}
    assert differences(before, {"a": 1, "b": 20, "d": 4}) == [
        "b has 20 bytes, had 2",
        "c is gone (had 3 bytes)",
        "d is new (4 bytes)",
    ]


@given(_inventory, _inventory)
def test_files_that_came_later_are_no_damage(files, more):
    assert damage(files, {**more, **files}) == []
    assert rewritten(files, {**more, **files}) == []


def test_damage_is_told_file_by_file():
    taken = {"a": Stamp(1, etag="x"), "b": Stamp(2), "c": Stamp(3), "d": Stamp(4, 7)}
    found = {"a": Stamp(1, etag="y"), "b": Stamp(0), "d": Stamp(4, 9)}
    assert damage(taken, found) == [
        "a was replaced by another file of the same size",
        "b has 0 bytes, had 2",
        "c is gone (had 3 bytes)",
    ]
    assert damage(taken, found, limit=1)[1:] == ["2 more files differ"]
    assert rewritten(taken, found) == ["d"]


def test_where_tags_agree_a_later_time_says_nothing():
    taken, found = {"a": Stamp(1, 5, "x")}, {"a": Stamp(1, 9, "x")}
    assert (damage(taken, found), rewritten(taken, found)) == ([], [])


def test_stamps_are_added_to_files_of_the_same_size_only():
    taken = {"a": Stamp(1), "b": Stamp(2), "c": Stamp(3, 1)}
    found = {"a": Stamp(1, 5), "b": Stamp(9, 5), "c": Stamp(3, 5), "d": Stamp(4, 5)}
    assert stamped(taken, found) == {"a": Stamp(1, 5), "b": Stamp(2), "c": Stamp(3, 1)}


@pytest.mark.parametrize("block", [b"", b"\x09junk", b"\x01junk", b"\x02junk"])
def test_a_damaged_block_says_so(block):
    with pytest.raises(BadPayload, match="inventory"):
        unpack(block)


def test_too_many_files_are_refused():
    with pytest.raises(BadPayload, match="200001 files"):
        pack(dict.fromkeys(map(str, range(MAX_FILES + 1)), Stamp(1)))
