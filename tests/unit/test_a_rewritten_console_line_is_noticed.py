"""ingest.wandb.lines.rewritten: progress bars change lines that are stored, retries do not."""

import orjson
from hypothesis import given
from hypothesis import strategies as st

from apps.ingest.wandb.lines import OUTPUT, REWRITABLE, Piece, rewritten

texts = st.lists(st.text(alphabet="ab", max_size=2), min_size=1, max_size=3 * REWRITABLE)


def first(lines, offset=0):
    return dict(rewritten(Piece(OUTPUT, offset, tuple(lines)), range(len(lines)), {}).recent)


@given(texts)
def test_the_same_lines_again_are_repeats(lines):
    again = rewritten(Piece(OUTPUT, 0, tuple(lines)), (), first(lines))
    assert (again.indices, dict(again.recent)) == ((), first(lines))


@given(texts, st.data())
def test_each_recent_line_that_says_something_else_is_named(lines, data):
    recent = range(max(0, len(lines) - REWRITABLE), len(lines))
    chosen = data.draw(st.sets(st.sampled_from(recent)))
    now = [f"{line}!" if n in chosen else line for n, line in enumerate(lines)]
    found = rewritten(Piece(OUTPUT, 0, tuple(now)), (), first(lines))
    assert (set(found.indices), dict(found.recent)) == (chosen, first(now))


def test_what_is_far_back_counts_as_a_repeat():
    lines = [str(n) for n in range(REWRITABLE + 1)]
    assert rewritten(Piece(OUTPUT, 0, ("other",)), (), first(lines)).indices == ()


def test_another_time_stamp_is_no_change():
    def line(second):
        return orjson.dumps({"ts": f"2026-11-29T19:04:{second}.5", "content": "10%"}).decode()

    assert rewritten(Piece(OUTPUT, 5, (line(25),)), (), first([line(24)], 5)).indices == ()


@given(st.lists(st.tuples(st.integers(0, 200), texts), max_size=5))
def test_what_is_remembered_is_bounded(pieces):
    recent = {}
    for offset, lines in pieces:
        piece = Piece(OUTPUT, offset, tuple(lines))
        recent = dict(rewritten(piece, range(len(lines)), recent).recent)
        assert len(recent) <= REWRITABLE
