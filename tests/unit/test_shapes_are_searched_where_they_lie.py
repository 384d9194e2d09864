"""logs.domain.chunk.packedshapes"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.logs.domain.chunk.packedshapes import PackedShapes
from apps.logs.domain.query.sieve import caseless

KELVIN = b"\xe2\x84\xaa"
SHAPES = st.lists(st.sampled_from([b"", b"a", b"ab0", b"0ba", b"00", b"B\xc4\xb0", KELVIN]))


@given(SHAPES, st.sampled_from([b"", b"a", b"b0", b"00", b"ba0", b"k", b"B"]))
def test_they_are_found_as_if_one_by_one(shapes, wanted):
    packed = PackedShapes.of(shapes)
    assert packed.listed == shapes
    assert [packed.one(number) for number in range(len(shapes))] == shapes
    assert packed.widths.tolist() == [shape.count(b"0") for shape in shapes]
    assert packed.sizes.tolist() == list(map(len, shapes))
    assert packed.holding(wanted).tolist() == [wanted in shape for shape in shapes]
    folded = [caseless(shape) for shape in shapes]
    assert packed.caseless.listed == folded


@pytest.mark.parametrize("shapes", [[b"ab", b"ab"], [b"a", b"ba", b"b"]])
def test_a_text_over_a_border_is_in_none(shapes):
    assert not PackedShapes.of(shapes).holding(b"bab").any()
