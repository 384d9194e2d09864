"""logs.domain.textsearch and conditions"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.logs.domain.chunk.chunktexts import PlainTexts
from apps.logs.domain.query import textsearch
from apps.logs.domain.query.conditions import filter_of, matching
from apps.logs.domain.query.ranksets import BadQuery
from apps.logs.domain.query.regexes import LineRegex
from apps.logs.records import LogQuery
from tests.log_chunks import chunk_of

PIECES = ["step ", "12", "1", "7", "0", "21 ", "loss=", "Café", "NaN", "\u017fK", " ", "0x1f2"]
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=4)
LINES = st.lists(
    st.lists(st.sampled_from(PIECES) | TEXT, max_size=5).map("".join), min_size=1, max_size=30
)
NEEDLES = st.lists(st.sampled_from(PIECES), min_size=1, max_size=3).map("".join) | TEXT
REGEXES = st.sampled_from(
    [
        r"step \d+",
        "^1|2$",
        "(?i)nan|CAFÉ",
        r"[0-9]{2}",
        "(12|7).*s",
        "",
        r"\A1",
        r"x\d",
        "sk",
        "f2$",
    ]
)


@pytest.fixture(autouse=True)
def no_shortcut_for_few_lines(monkeypatch):
    monkeypatch.setattr(textsearch, "FEW", 0)


def plain(texts):
    """The same texts without shapes, as in chunks of version 1."""
    return PlainTexts(texts.start, texts.whole)


@given(LINES, NEEDLES, st.data())
def test_a_text_is_found_where_it_is(lines, needle, data):
    texts = chunk_of(lines * 3).lines_text
    among = np.array(
        data.draw(st.lists(st.booleans(), min_size=len(lines), max_size=len(lines))) * 3
    )
    expected = among & np.array([needle in line for line in lines] * 3)
    for one in (texts, plain(texts)):
        assert (textsearch.holding(one, needle.encode(), among) == expected).all()


@given(LINES, REGEXES | NEEDLES, st.booleans(), st.booleans())
def test_a_regex_matches_where_it_matches_the_line_alone(lines, pattern, ignore_case, literal):
    literal = literal or pattern in PIECES
    try:
        regex = LineRegex(pattern, ignore_case=ignore_case, literal=literal)
    except BadQuery:
        return
    expected = np.array([bool(list(regex.matching(line.encode()))) for line in lines] * 9)
    texts = chunk_of(lines * 9).lines_text
    among = np.ones(len(texts.start) - 1, dtype=np.bool_)
    for one in (texts, plain(texts)):
        assert (textsearch.holding(one, regex, among) == expected).all()


def test_a_text_with_a_line_end_is_in_no_line():
    assert not textsearch.holding(chunk_of(["a", "b"]).lines_text, b"a\nb", np.ones(2, bool)).any()


RANKS, LEVELS, STEPS = [0, 1, 2, 3, None], [10, 20, 30, 40, 50], [None, 1, 2, 3]


@given(st.lists(st.tuples(st.sampled_from(RANKS), st.sampled_from(LEVELS), st.sampled_from(STEPS)),
                min_size=1, max_size=20), st.data())  # fmt: skip
def test_each_condition_holds_for_each_line(rows, data):
    low, high = sorted((data.draw(st.sampled_from(LEVELS)), data.draw(st.sampled_from(LEVELS))))
    first, last = sorted((data.draw(st.integers(0, 4)), data.draw(st.integers(0, 4))))
    query = LogQuery(
        1, rank_spans=((first, last),), ranks=(9,), min_severity=low, max_severity=high,
        from_step=2, from_ns=2 * 10**9,
    )  # fmt: skip
    ranks, levels, steps = zip(*rows, strict=True)
    chunk = chunk_of(["x"] * len(rows), rank=list(ranks), severity=list(levels), step=list(steps))
    assert matching(chunk, filter_of(query)).tolist() == [
        rank is not None and first <= rank <= last and low <= level <= high
        and (step is None or step >= 2) and at >= 2
        for at, (rank, level, step) in enumerate(rows)
    ]  # fmt: skip
