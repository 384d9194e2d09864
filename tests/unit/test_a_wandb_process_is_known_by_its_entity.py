"""ingest.wandb.sessions: which process asks, and whose lines a synced copy repeats."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.ingest.wandb.lines import EVENTS, HISTORY, OUTPUT, Piece
from apps.ingest.wandb.sessions import (
    ENTITY,
    SAME_ORIGIN_NS,
    Session,
    Told,
    Trace,
    copy_name,
    copy_number,
    original_of,
    session_of,
    told_in,
    traces,
)

T0_S = 1_795_981_200
SECOND = 1_000_000_000
counts = st.integers(0, 10**9)


@given(st.integers(0, 999), st.booleans())
def test_a_session_comes_back_from_its_entity(number, copied):
    session = Session(copy=number) if copied else Session(attempt=number)
    assert session_of(session.entity) == session


def test_people_see_no_number_while_there_is_one_process():
    assert Session(attempt=0).entity == ENTITY


@given(st.text())
def test_any_other_entity_is_nobodys(entity):
    session = session_of(entity)
    assert session == Session() or session.entity == entity or entity.startswith(ENTITY)


@given(st.integers(0, 10**9 - 1), counts, counts, st.none() | st.integers(0, 2**53 - 1))
def test_what_a_process_was_told_comes_back_from_its_run_id(attempt, history, output, step):
    told = Told(attempt, history, 7, output, step)
    assert told_in(told.packed("my-run~1~2")) == told


@pytest.mark.parametrize("run_id", ["", "r", "r~1~2~3", "~1~2~3~4", "r~1~2~3~x", "r~1~2~3~4~after"])
def test_a_run_id_of_ours_only_tells_something(run_id):
    assert told_in(run_id) is None


@given(st.integers(0, 10**8))
def test_a_copy_comes_back_from_its_name(number):
    assert copy_number(copy_name(number)) == number


@pytest.mark.parametrize("name", ["", "sync-", "sync-x", "3f2c-9d", "sync-1-2", "sync-٣٣٣٣٣٣٣٣٣٣"])
def test_other_writers_are_no_copies(name):
    assert copy_number(name) is None


def line(at_s, runtime_s, step=0):
    return orjson.dumps({"_timestamp": T0_S + at_s, "_runtime": runtime_s, "_step": step}).decode()


def test_lines_tell_when_their_clock_began():
    pieces = [Piece(HISTORY, 10, (line(12, 2), line(13, 3))), Piece(OUTPUT, 0, ("x",))]
    found = traces(pieces, {HISTORY: 10})
    assert found == {HISTORY: Trace((T0_S + 12) * SECOND, (T0_S + 10) * SECOND)}


def test_only_the_first_line_of_a_process_tells_its_first_time():
    assert traces([Piece(EVENTS, 3, (line(9, 2),))], {})[EVENTS].first_ns is None


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"_timestamp":"x"}', '{"_timestamp":1,"_runtime":null}']
)
def test_lines_without_times_tell_nothing(text):
    assert traces([Piece(HISTORY, 0, (text,))], {}) == {}


KNOWN = {
    0: {HISTORY: Trace(5 * SECOND, 4 * SECOND), EVENTS: Trace(None, 4 * SECOND)},
    1: {HISTORY: Trace(95 * SECOND, 60 * SECOND), EVENTS: Trace(None, 90 * SECOND)},
}  # fmt: skip


@pytest.mark.parametrize(("copied", "attempt"), [
    ({HISTORY: Trace(5 * SECOND, 4 * SECOND)}, 0),
    ({EVENTS: Trace(1, 90 * SECOND + SAME_ORIGIN_NS)}, 1),
    ({EVENTS: Trace(1, 90 * SECOND + SAME_ORIGIN_NS + 1)}, None),
    ({HISTORY: Trace(5 * SECOND + 1_000, 4 * SECOND)}, None),
    ({HISTORY: Trace(None, 4 * SECOND), EVENTS: Trace(None, 90 * SECOND)}, None),
    ({}, None),
])  # fmt: skip
def test_a_copy_finds_its_original_by_time(copied, attempt):
    assert original_of(copied, KNOWN) == attempt


def test_the_nearest_of_two_is_the_original():
    near = {0: {EVENTS: Trace(None, 0)}, 1: {EVENTS: Trace(None, SECOND)}}
    assert original_of({EVENTS: Trace(None, SECOND - 1)}, near) == 1
