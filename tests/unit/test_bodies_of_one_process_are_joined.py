"""Bodies that wait together: one batch, which says what they said one after the other."""

from dataclasses import replace
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from apps.ingest.wandb import joining
from apps.ingest.wandb.joining import join_records, join_streams
from apps.ingest.wandb.lines import HISTORY, OUTPUT, SUMMARY, Piece, StreamBatch
from apps.ingest.wandb.said import WandbBody

LINES = tuple(f"line {number}" for number in range(30))
BODY = WandbBody(0, "run-x.wandb", "gpu-a01", 4, 0, (b"a", b"bc"))


def batch(*pieces, exit_code=None, preempting=False):
    return StreamBatch(tuple(Piece(*piece) for piece in pieces), exit_code, preempting)


@given(st.lists(st.integers(0, 30), max_size=6), st.lists(st.integers(0, 30), max_size=6))
def test_a_file_cut_anywhere_is_joined_to_what_it_was(history_cuts, output_cuts):
    joined = batch((HISTORY, 0, ()), (OUTPUT, 0, ()))
    for file, cuts in ((HISTORY, history_cuts), (OUTPUT, output_cuts)):
        ends = sorted({0, 30, *cuts})
        for start, end in pairwise(ends):
            joined = join_streams(joined, batch((file, start, LINES[start:end])))

    assert joined == batch((HISTORY, 0, LINES), (OUTPUT, 0, LINES))


def test_the_last_summary_and_the_notice_are_kept():
    last = batch((SUMMARY, 0, ("new",)), preempting=True)

    assert join_streams(batch((SUMMARY, 0, ("old",))), last) == last


def test_the_end_of_a_process_is_not_moved_to_when_the_body_before_it_came():
    """A stop that was told with the answer to that body would seem to be told after the end."""
    assert join_streams(batch((SUMMARY, 0, ("old",))), batch(exit_code=0)) is None


def test_what_does_not_follow_is_not_joined():
    first = batch((HISTORY, 0, LINES[:3]))
    others = [
        (first, batch((HISTORY, 2, LINES[2:4]))),
        (first, batch((HISTORY, 4, LINES[4:5]))),
        (batch(("other", 0, ("x",))), batch(("other", 1, ("x",)))),
        (batch(exit_code=0), first),
        (batch(preempting=True), first),
    ]
    assert [join_streams(*pair) for pair in others] == [None] * len(others)


def test_no_more_is_joined_than_fits_into_memory(monkeypatch):
    monkeypatch.setattr(joining, "MOST_SIZE", 11)
    first = batch((HISTORY, 0, LINES[:1]))

    assert join_streams(first, batch((HISTORY, 1, LINES[1:2]))) is None
    assert join_records(BODY, replace(BODY, first_record=6, records=(b"x" * 9,))) is None


def test_records_of_one_file_that_follow_each_other_are_joined():
    follows = replace(BODY, first_record=6, records=(b"d",), damaged=2)

    assert join_records(BODY, follows) == replace(BODY, records=(b"a", b"bc", b"d"), damaged=2)


def test_records_of_another_file_start_or_place_are_not_joined():
    follows = replace(BODY, first_record=6)
    others = [
        replace(follows, first_record=7),
        replace(follows, file="run-y.wandb"),
        replace(follows, attempt=1),
        replace(follows, time_shift_ns=1),
    ]
    assert [join_records(BODY, other) for other in others] == [None] * 4
