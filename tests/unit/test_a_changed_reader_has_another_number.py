"""logs.domain.parcel.reader"""

from hypothesis import given
from hypothesis import strategies as st

from apps.logs.domain.parcel.reader import number_of, reader_number

sources = st.lists(st.binary(), max_size=4)


@given(sources, sources)
def test_readers_of_one_number_have_one_source(one, other):
    assert (number_of(one) == number_of(other)) == (one == other)


def test_the_number_of_this_process_goes_through_json_of_any_client():
    assert 0 < reader_number() < 2**53
