"""dashboard.log_ask"""

from django.http import QueryDict
from hypothesis import given
from hypothesis import strategies as st

from apps.core.times import read_time_ns
from apps.dashboard.log_ask import LogAsk, ask_of, moment

MOMENTS = st.none() | st.integers(0, 2**63 - 1)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30).map(str.strip)


@given(
    st.builds(
        LogAsk,
        text=texts,
        attempt=st.none() | st.integers(0, 2**31 - 1),
        from_ns=MOMENTS,
        to_ns=MOMENTS,
        order=st.sampled_from(["newest", "oldest"]),
        at=texts,
    )
)
def test_an_address_is_read_back_as_it_was_written(ask):
    assert ask_of(QueryDict(ask.address(at=ask.at)[1:]).dict()) == ask


@given(st.integers(0, 2**63 - 1))
def test_a_moment_is_read_back_to_the_nanosecond(time_ns):
    assert read_time_ns(moment(time_ns)) == time_ns


def test_a_moment_may_be_written_short():
    assert read_time_ns("2026-11-29 12:00") == read_time_ns("2026-11-29T12:00:00.000Z")
    assert [read_time_ns(text) for text in ("", "soon", "2026-13-01 12:00", "²")] == [None] * 4


def test_a_field_replaces_its_word_and_leaves_the_rest():
    assert ask_of({"q": "rank:1 boom -x", "rank": "0-7,64"}).text == 'boom -"x" rank:0-7,64'
    assert ask_of({"q": "level:info a", "level": "debug"}).text == "a"
    assert ask_of({"node": 'a "b'}).text == 'node:"a \\"b"'


def test_a_query_that_cannot_be_read_is_kept_for_its_writer():
    assert ask_of({"q": "rank:x boom", "node": "n"}).text == "rank:x boom node:n"
