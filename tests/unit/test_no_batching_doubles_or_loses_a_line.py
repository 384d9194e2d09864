"""logs.domain.coverage"""

from hypothesis import given
from hypothesis import strategies as st

from apps.logs.domain.chunk.coverage import MAX_GAPS, Coverage, accept

SIZE = 10
LINES = 12
CUTS = st.tuples(st.integers(0, LINES), st.integers(0, LINES)).map(sorted)


def send(coverage, first, last):
    """Lines first..last-1 of a file whose lines have SIZE bytes each."""
    seqs = [SIZE * number for number in range(first, last)]
    return accept(coverage, SIZE * first, SIZE * last, seqs)


def replay(batches):
    coverage, stored = Coverage(), []
    for first, last in batches:
        done = send(coverage, first, last)
        coverage = done.coverage
        stored += done.seq
    return coverage, stored


@given(st.lists(CUTS, max_size=12))
def test_every_sent_line_is_stored_once(batches):
    coverage, stored = replay(batches)
    sent = {SIZE * number for first, last in batches for number in range(first, last)}
    assert sorted(stored) == sorted(sent)
    assert coverage.end >= max(sent, default=-SIZE) + SIZE


@given(st.lists(CUTS, max_size=12))
def test_gaps_are_what_was_never_sent(batches):
    coverage, _ = replay(batches)
    sent = {SIZE * number for first, last in batches for number in range(first, last)}
    missing = {n for n in range(0, coverage.end, SIZE) if n not in sent}
    assert {n for a, b in coverage.gaps for n in range(a, b, SIZE)} == missing


def test_a_jump_opens_a_gap_that_a_late_batch_fills():
    jump = send(Coverage(20), 5, 6)
    assert jump.opened == (20, 50)
    late = send(jump.coverage, 2, 5)
    assert list(late.seq) == [20, 30, 40]
    assert late.coverage == Coverage(60)


def test_a_longer_reading_of_a_partial_line_is_kept_under_its_new_part():
    done = accept(Coverage(15), 10, 30, [10, 20])
    assert (list(done.keep), list(done.seq)) == ([0, 1], [15, 20])


def test_a_resent_segment_adds_nothing():
    assert not send(Coverage(50), 1, 4).keep


def test_only_the_newest_gaps_are_kept():
    gaps = tuple((at, at + 5) for at in range(0, 10 * MAX_GAPS, 10))
    done = accept(Coverage(10 * MAX_GAPS, gaps), 10 * MAX_GAPS + 5, 10 * MAX_GAPS + 10, [])
    assert done.coverage.gaps == (*gaps[1:], (10 * MAX_GAPS, 10 * MAX_GAPS + 5))


def test_lines_of_a_segment_fill_the_gaps_they_lie_in():
    done = accept(Coverage(50, ((5, 8), (22, 25), (40, 41))), 0, 60, list(range(0, 60, 10)))
    assert list(zip(done.keep, done.seq, strict=True)) == [(0, 5), (2, 22), (4, 40), (5, 50)]
    assert done.coverage == Coverage(60)
