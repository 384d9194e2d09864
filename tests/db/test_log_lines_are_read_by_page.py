"""logs.store.read_lines"""

import pytest

from apps.logs.domain.query.cursor import BadCursor
from apps.logs.records import LogQuery
from apps.logs.store import read_lines
from tests.log_batches import RUN, numbered, read_all, send, stored

pytestmark = pytest.mark.django_db

DAY = "2026-11-29 12:00:"


def line(second, rank, text, level="INFO"):
    return f"{DAY}{second:02d}.000 [{level}] [rank{rank}] {text}\n"


@pytest.fixture
def four_batches():
    """Two ranks on two nodes, times overlap."""
    send(line(1, 5, "one") + line(4, 5, "four"), batch_id="a")
    send(line(2, 0, "two") + line(3, 0, "three", "ERROR"), node="gpu-a01", batch_id="b")
    send(line(5, 5, "five"), offset=90, batch_id="c")
    send(line(6, 0, "six", "WARNING"), node="gpu-a01", offset=200, batch_id="d")


def words(lines):
    return [entry.text.rsplit(" ", 1)[1] for entry in lines]


ALL = ["one", "two", "three", "four", "five", "six"]


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
def test_pages_follow_each_other(four_batches, limit):
    assert words(read_all(limit=limit)) == ALL


@pytest.mark.parametrize("limit", [1, 2, 100])
def test_pages_from_the_newest(four_batches, limit):
    assert words(read_all(limit=limit, newest_first=True)) == ALL[::-1]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"ranks": (0,)}, ["two", "three", "six"]),
        ({"node": "gpu-b02"}, ["one", "four", "five"]),
        ({"min_severity": 30}, ["three", "six"]),
        ({"min_severity": 40}, ["three"]),
        ({"text": "f"}, ["four", "five"]),
        ({"text": "FIVE"}, []),
        ({"from_ns": 1_795_953_602_000_000_000, "to_ns": 1_795_953_604_000_000_000}, ALL[1:4]),
        ({"attempt": 0}, ALL),
        ({"attempt": 1}, []),
    ],
)
def test_conditions(four_batches, query, expected):
    assert words(read_all(**query)) == expected


def test_headers_spare_chunks(four_batches):
    page = read_lines(LogQuery(RUN, min_severity=40))
    assert (page.chunks_scanned, page.chunks_total) == (1, 1)


def test_a_search_stops_and_goes_on(four_batches):
    page = read_lines(LogQuery(RUN, text="six", max_chunks=1))
    assert (page.lines, page.partial, page.chunks_scanned) == ((), True, 1)
    assert page.chunks_total == 4
    assert words(read_all(text="six", max_chunks=1)) == ["six"]


def test_a_line_has_its_place(four_batches):
    (entry,) = read_lines(LogQuery(RUN, text="three")).lines
    assert (entry.node, entry.attempt, entry.rank, entry.severity) == ("gpu-a01", 0, 0, 40)


def test_console_copies_of_rank_files_are_left_out():
    send(line(1, 5, "one"))
    copy = f"[default1]:{line(1, 5, 'one')}E1129 12:00:02.0 9 torch/x.py:1] failed\n"
    send(copy, channel="console", local_rank=None, source="console")
    assert len(stored()) == 2
    assert len(stored(copies=True)) == 3


def test_a_console_alone_is_shown():
    copy = f"[default1]:{line(1, 5, 'one')}"
    send(copy, channel="console", local_rank=None, source="console")
    assert len(stored()) == 1


def test_console_lines_get_the_rank_of_their_process():
    send("hello\n" + line(1, 5, "one"))
    send("[default1]:wandb: hi\n", channel="console", local_rank=None, source="console")
    assert [entry.rank for entry in read_all(copies=True)] == [5, 5, 5]


def test_a_foreign_cursor_is_refused():
    with pytest.raises(BadCursor):
        read_lines(LogQuery(RUN, after_cursor="nonsense"))


def test_the_number_of_queries_does_not_grow(four_batches, django_assert_num_queries):
    with django_assert_num_queries(3):
        read_lines(LogQuery(RUN))


def test_lines_of_the_same_time_are_not_lost_between_pages():
    send("".join(f"{DAY}01.000 [INFO] [rank5] x {n}\n" for n in range(9)))
    assert words(read_all(limit=2)) == [str(n) for n in range(9)]


def test_numbered_lines_without_time_keep_their_order():
    send(numbered(0, 9))
    assert stored(limit=4) == numbered(0, 9).split("\n")[:-1]
