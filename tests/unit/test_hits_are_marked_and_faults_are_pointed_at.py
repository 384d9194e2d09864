"""logs.domain.marks"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.logs.domain.query.marks import MAX_MARKS, fault_at, marker, stamp_of
from apps.logs.domain.query.querytext import QueryText, parse_query
from apps.logs.domain.query.ranksets import BadQuery

letters = st.text("abAB .", max_size=40)


@given(letters, st.lists(letters.filter(bool), max_size=3), st.booleans())
def test_pieces_joined_are_the_line(text, words, ignore_case):
    pieces = marker(QueryText(words=tuple(words), ignore_case=ignore_case)).pieces(text)
    assert "".join(pieces) == text
    assert len(pieces) % 2 == 1


@given(letters, letters.filter(bool))
def test_a_word_is_marked_wherever_it_stands(text, word):
    pieces = marker(QueryText(words=(word,))).pieces(text)
    assert pieces[1::2] == [word] * text.count(word)


@pytest.mark.parametrize(
    ("query", "text", "expected"),
    [
        ("/b+/", "abba", ["a", "bb", "a"]),
        ("/B/i b", "abB", ["a", "b", "", "B", ""]),
        ("/^/", "abc", ["abc"]),
        ("", "abc", ["abc"]),
        ("ab bc", "abc", ["", "ab", "c"]),
        ("ß /ß/i", "Straße", ["Stra", "ß", "e"]),
    ],
)
def test_what_a_query_asks_for_is_marked(query, text, expected):
    assert marker(parse_query(query)).pieces(text) == expected


def test_marks_of_a_line_are_bounded():
    assert len(marker(QueryText(words=("a",))).pieces("a" * 5_000)) == 2 * MAX_MARKS + 1


@pytest.mark.parametrize(
    ("query", "fault"),
    [
        ("boom rank:0-7,x more", "x"),
        ("rank:1 boom rank:2", "rank:2"),
        ("sev>=loud boom", "loud"),
        ("a /(/ b", "/(/"),
        ("step: x", "step:"),
        ("host:,", "host:,"),
        ("a " * 30, "a " * 30),
    ],
)
def test_a_fault_is_pointed_at(query, fault):
    with pytest.raises(BadQuery) as error:
        parse_query(query)
    start, end = fault_at(query, error.value)
    assert query[start:end] == fault


@pytest.mark.parametrize(
    ("text", "stamp"),
    [
        ("2026-11-29T12:00:00.5Z   x", "2026-11-29T12:00:00.5Z "),
        ("[2026-11-29 12:00:00,123]: x", "[2026-11-29 12:00:00,123]: "),
        ("2026-11-29 12:00:00", ""),
        ("at 2026-11-29 12:00:00 x", ""),
    ],
)
def test_a_line_may_begin_with_its_own_time(text, stamp):
    assert stamp_of(text) == stamp
