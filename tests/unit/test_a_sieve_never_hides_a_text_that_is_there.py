"""logs.domain.sieve"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.logs.domain.chunk.chunks import decode_chunk, encode_chunk
from apps.logs.domain.query import sieve
from apps.logs.domain.query.conditions import filter_of, matching
from apps.logs.domain.query.pruning import may_match, probes_of
from apps.logs.domain.query.regexes import LineRegex
from apps.logs.domain.query.sieve import Probe, build, may_contain
from apps.logs.records import LogQuery
from tests.log_chunks import table_of

WORDS = ["needle", "Café", "\u017fKs", "loss=", "0x7f3a9c", " step 12 ", "ÄÖ", "nan", "\U0001f600"]
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=6)
LINE = st.lists(st.sampled_from(WORDS) | TEXT, max_size=6).map("".join)
LINES = st.lists(LINE, min_size=1, max_size=8)


@pytest.fixture(autouse=True)
def sieves_of_small_texts(monkeypatch):
    monkeypatch.setattr(sieve, "MIN_TEXT_BYTES", 0)


@given(LINES, st.data())
def test_every_piece_of_a_line_passes(lines, data):
    line = data.draw(st.sampled_from(lines))
    start = data.draw(st.integers(0, len(line)))
    piece = line[start : data.draw(st.integers(start, len(line)))]
    built = build([line.encode() for line in lines], 1)
    assert may_contain(built, piece.encode())
    for other in (piece.upper(), piece.lower(), piece.swapcase()):
        if list(LineRegex(other, ignore_case=True, literal=True).matching(line.encode())):
            assert Probe(other.encode(), ignore_case=True).passes(built)


@given(
    LINES,
    st.lists(st.sampled_from(WORDS), max_size=2),
    st.sampled_from(["", "need.e", "(?i)caf.|nan", "(NEEDLE|sk)", "loss=+", r"step \d+"]),
    st.booleans(),
)
def test_a_chunk_with_a_hit_is_opened(lines, words, regex, ignore_case):
    query = LogQuery(1, words=tuple(words), regex=regex, ignore_case=ignore_case, copies=True)
    condition = filter_of(query)
    header, body = encode_chunk([table_of(lines)])
    hit = matching(decode_chunk(body), condition)
    assert may_match(header.sieve, probes_of(condition)) or not hit.any()


def test_a_text_that_is_not_there_does_not_pass():
    built = build([b"rank %d: shard verify ok" % rank for rank in range(4000)], 1)
    assert [may_contain(built, text) for text in (b"verify", b"needle", b"SHARD", b"77")] == [
        True, False, True, True,
    ]  # fmt: skip
    assert len(built) == sieve.MIN_BITS // 8


def test_a_sieve_grows_with_what_it_holds():
    chance = np.random.default_rng(7)
    text = chance.integers(97, 123, 200_000).astype(np.uint8).tobytes()
    built = build([text], 1)
    assert len(built) == sieve.MAX_BITS // 8
    assert may_contain(built, text[5000:5040])
    assert not may_contain(build([text[:10_000]], 1), b"quick brown foxes jump over")


def test_little_text_has_no_sieve(monkeypatch):
    monkeypatch.undo()
    assert build([b"short"], 5) == b""
    assert may_contain(b"", b"anything")
