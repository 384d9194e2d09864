import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.checkpoints.domain.inventory import MAX_FILES, differences, digest, pack, unpack
from apps.core.errors import BadPayload

_name = st.text(st.characters(exclude_categories=("Cs",)), max_size=30)
_files = st.dictionaries(_name, st.integers(min_value=0, max_value=2**63 - 1), max_size=30)


@given(_files)
def test_every_inventory_comes_back_as_it_was(files):
    assert unpack(pack(files)) == files


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


@pytest.mark.parametrize("block", [b"", b"\x09junk", b"\x01junk"])
def test_a_damaged_block_says_so(block):
    with pytest.raises(BadPayload, match="inventory"):
        unpack(block)


def test_too_many_files_are_refused():
    with pytest.raises(BadPayload, match="200001 files"):
        pack({str(n): 1 for n in range(MAX_FILES + 1)})
