import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.words import MAX_WHOLE, whole, wholes


@given(st.integers(0, MAX_WHOLE))
def test_a_whole_number_is_read(value):
    assert whole(str(value)) == value


@given(st.text(), st.integers(0, 10**6))
def test_any_text_is_a_number_in_bounds_or_none(text, most):
    value = whole(text, most)
    assert value is None or 0 <= value <= most


@pytest.mark.parametrize("text", ["", " 1", "-1", "+1", "1_0", "²", "٣", "①", str(MAX_WHOLE + 1)])
def test_other_texts_are_none(text):
    assert whole(text) is None


def test_more_than_the_most_is_none():
    assert (whole("5", 5), whole("6", 5)) == (5, None)


@given(st.integers(0, 2**128 - 1))
def test_a_bound_may_be_wider_than_what_postgres_holds(value):
    assert whole(str(value), 2**128 - 1) == value
    assert whole(str(2**128), 2**128 - 1) is None


def test_of_several_texts_those_that_are_none_are_left_out():
    assert wholes(["7", "x", "", "7", "3"]) == [7, 7, 3]
