"""ingest.logs.write, ingest.packed.write: bodies of one run in one transaction"""

import msgspec
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.core.errors import BadPayload
from apps.ingest import writes
from apps.ingest.digest import digest
from apps.logs.domain.reading.carry import unpack
from apps.logs.store.templates import read_tally
from tests import factories
from tests.db.test_a_parcel_is_stored_as_its_bytes_would_be import (
    CONSOLE,
    CUT,
    OTHER,
    TABLES,
    counters,
    digested,
    rows,
    texts,
)
from tests.parcels import LINES, SOURCE, body_of, content, packed, segment
from workers.tailer import parcels

pytestmark = pytest.mark.django_db

ROWS = [table for table in TABLES if table not in ("logs_templatetally", "metrics_hotblock")]
FIRST, SECOND = (segment(LINES[:CUT]), LINES[:CUT]), (segment(LINES[CUT:], offset=CUT), LINES[CUT:])
OF_OTHER = (segment(OTHER, source="r1.log", local_rank=1, generation=2), OTHER)
OF_CONSOLE = (segment(CONSOLE, source="console.log", channel="console", local_rank=None), CONSOLE)


@pytest.fixture
def nothing_is_added_up(monkeypatch):
    """One row of counts in 64, by its number, adds up those before it."""
    monkeypatch.setattr("apps.logs.store.templates._level", lambda number: 0)


def raw():
    """Bodies of two nodes, of which the first sends its file in two."""
    return [
        ("logs", body_of(content(FIRST))),
        ("logs", body_of(content(OF_OTHER, node="gpu-b02"))),
        ("logs", body_of(content(SECOND, OF_CONSOLE))),
        ("logs", body_of(content(FIRST, node="gpu-b02"))),
    ]


def read_by_agent():
    """The same as parcels."""
    before = parcels.read(content(FIRST), [b""]).after
    return [
        ("packed", packed(FIRST)),
        ("packed", packed(OF_OTHER, node="gpu-b02")),
        ("packed", packed(SECOND, OF_CONSOLE, before=[*before, b""])),
        ("packed", packed(FIRST, node="gpu-b02")),
    ]


def one_by_one(run, bodies):
    for number in range(len(bodies)):
        run_id, _ = digested(run, *bodies[: number + 1])  # those before count as sent again
    return run_id


def counted(run_id):
    """Counters, without what says how bodies were cut."""
    left_out = ("duplicate_batches", "duplicate_steps")
    return {name: n for name, n in counters(run_id).items() if name not in left_out}


def templates(run_id):
    found = read_tally(run_id, 0, 0, 2**31 - 1)
    return [(r["template"], r["hour"], r["lines"], r["first_ns"], r["worst"]) for r in found.rows]


@pytest.mark.parametrize("bodies", [raw(), read_by_agent()], ids=["bytes", "parcels"])
def test_everything_is_the_same(bodies):
    apart = one_by_one("apart", bodies)
    together, done = digested("together", *bodies)
    assert (done.written, done.quarantined, done.duplicates) == (4, 0, 0)
    for table in ROWS:
        assert rows(together, table) == rows(apart, table) != [], table
    assert templates(together) == templates(apart) != []
    assert counted(together) == counted(apart)
    assert len(rows(together, "logs_templatetally")) == 1


def test_a_damaged_one_takes_no_other_with_it():
    bodies = read_by_agent()
    bodies[1] = ("packed", bodies[1][1][:-40])
    run_id, done = digested("r", *bodies)
    assert (done.written, done.quarantined) == (3, 1)
    assert counters(run_id)["lines"] == 2 * LINES[:CUT].count(b"\n") + LINES[CUT:].count(b"\n") + 20


def test_one_that_came_before_is_left_out():
    bodies = raw()
    digested("r", bodies[0])
    run_id, done = digested("r", *bodies)
    assert (done.written, done.duplicates) == (3, 1)
    apart = one_by_one("apart", bodies)
    assert texts(run_id) == texts(apart)
    assert "repeated_lines" not in counters(run_id)


def test_one_that_is_read_again_knows_what_those_before_it_left_open():
    (first, *_), (_, _, second, _) = read_by_agent(), raw()
    carry = unpack(parcels.read(content(FIRST), [b""]).after[0])
    other = msgspec.structs.replace(carry, time_ns=1).packed()
    run_id, _ = digested("r", first, ("packed", packed(SECOND, OF_CONSOLE, before=[other, b""])))
    expected, _ = digested("raw", first, second)
    assert texts(run_id) == texts(expected)
    assert counters(run_id)["parcels_read_again"] == 1


def test_a_bounded_number_of_bytes_is_held(monkeypatch):
    monkeypatch.setattr("apps.ingest.logs.write.MAX_JOINED_BYTES", len(LINES))
    run_id, done = digested("r", *raw())
    assert done.written == 4
    assert rows(run_id, "logs_chunk") == rows(one_by_one("apart", raw()), "logs_chunk")


@pytest.mark.usefixtures("nothing_is_added_up")
@pytest.mark.parametrize("bodies", [raw(), read_by_agent()], ids=["bytes", "parcels"])
def test_a_bounded_number_of_lines_waits_to_be_written(monkeypatch, bodies):
    apart = one_by_one("apart", bodies)
    monkeypatch.setattr("apps.ingest.logs.write.MAX_HELD_LINES", 1)
    run_id, done = digested("r", *bodies)
    assert (done.written, done.quarantined) == (4, 0)
    for table in ROWS:
        assert rows(run_id, table) == rows(apart, table), table
    assert counted(run_id) == counted(apart)
    assert len(rows(run_id, "logs_templatetally")) == 4  # written one by one, in one savepoint


def test_numbers_that_cannot_be_stored_are_left_out_of_their_body_alone(monkeypatch):
    write_rows = writes.write_rows

    def picky(run_id, attempt, rows, **said):
        if rows[0].step == 0:
            raise BadPayload("cannot be stored")
        return write_rows(run_id, attempt, rows, **said)

    monkeypatch.setattr(writes, "write_rows", picky)
    run_id, done = digested("r", *raw())
    first, second = LINES[:CUT].count(b"\n"), LINES[CUT:].count(b"\n")
    assert (done.written, done.quarantined) == (4, 0)
    assert (counters(run_id)["told_rows_refused"], counters(run_id)["points"]) == (
        2 * first,
        second,
    )


@pytest.mark.usefixtures("nothing_is_added_up")
def test_many_bodies_cost_the_statements_of_one():
    def statements(run, count):
        run_id, _ = digested(run, ("logs", body_of(content((segment(b"line\n"), b"line\n")))))
        bodies = [
            factories.log_body(b"line\n", source=SOURCE, offset=5 * n) for n in range(1, count)
        ]
        with CaptureQueriesContext(connection) as seen:
            digest([factories.envelope("logs", body, run_id=run_id) for body in bodies])
        assert counters(run_id)["lines"] == count
        return len(seen)

    assert statements("many", 21) == statements("few", 2)


@pytest.mark.usefixtures("nothing_is_added_up")
def test_one_more_node_costs_two_statements():
    def statements(run, count):
        bodies = [
            [factories.log_body(b"line\n", source=SOURCE, offset=offset, node=f"gpu-{n:02}")
             for n in range(count)]
            for offset in (0, 5)
        ]  # fmt: skip
        run_id, _ = digested(run, *(("logs", body) for body in bodies[0]))
        with CaptureQueriesContext(connection) as seen:
            digest([factories.envelope("logs", body, run_id=run_id) for body in bodies[1]])
        assert counters(run_id)["lines"] == 2 * count
        return len(seen)

    assert statements("many", 22) - statements("few", 2) == 20 * 2
