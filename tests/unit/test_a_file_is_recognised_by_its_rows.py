"""A file that lost its history is told from another one by digests of its rows."""

from hypothesis import given
from hypothesis import strategies as st

from apps.ingest.rows.marks import MAX_MARKS, Marks, Rows, noted, same_until, without


def rows(texts, first=0):
    return Rows(first, first + len(texts), lambda number: texts[number - first].encode())


def told(texts, size):
    marks = Marks()
    for at in range(0, len(texts), size):
        marks = noted(marks, rows(texts[at : at + size], at))
    return marks


@given(st.integers(1, 3000), st.integers(1, 700), st.integers(0, 2999), st.integers(1, 700))
def test_the_first_row_that_differs_is_found_within_a_stride(count, size, differs, again):
    old = [f"row {n}" for n in range(count)]
    new = [text if n < differs else f"{text} anew" for n, text in enumerate(old)]
    marks = told(old, size)
    found = count
    for at in range(0, count, again):
        part = rows(new[at : at + again], at)
        if (found := same_until(marks, part)) < part.end:
            break
    assert len(marks.digests) <= MAX_MARKS
    assert marks.stride <= max(1, count // 256)
    if differs < count:
        # Of a batch that ends between two marks nobody knows.
        assert differs - marks.stride < found or found % again == 0
        assert found < differs + marks.stride


@given(st.integers(1, 2000), st.integers(1, 500), st.integers(1, 500))
def test_the_same_rows_in_another_batching_are_the_same(count, size, again):
    texts = [f"row {n}" for n in range(count)]
    marks = told(texts, size)
    for at in range(0, count, again):
        part = rows(texts[at : at + again], at)
        assert same_until(marks, part) == part.end


def test_rows_that_did_not_come_yet_may_be_anything():
    marks = noted(Marks(), rows(["c", "d"], 2))
    assert same_until(marks, rows(["a", "b", "c", "e"])) == 3


def test_what_is_cut_off_is_forgotten():
    marks = without(told(["a", "b", "c"], 3), 1)
    assert same_until(marks, rows(["a", "x", "y"])) == 3


def test_a_row_of_a_huge_number_costs_no_memory():
    marks = noted(told(["a", "b"], 2), rows(["z"], 2**62 - 1))
    assert len(marks.digests) <= MAX_MARKS
