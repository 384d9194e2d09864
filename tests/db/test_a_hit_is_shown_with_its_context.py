"""logs.search.around and line_cursor"""

import pytest

from apps.logs import search
from apps.logs.domain.query.cursor import BadCursor, pack_cursor
from apps.logs.records import LogQuery
from apps.logs.store import read_lines
from tests.log_batches import RUN, numbered, send

pytestmark = pytest.mark.django_db


@pytest.fixture
def two_files():
    """Lines 0..49 of each of two files of one node, in ten batches that hold both."""
    for start in range(0, 50, 5):
        for local_rank in (0, 1):
            send(
                numbered(start, start + 5),
                offset=start * 8,
                source=f"{local_rank}.log",
                local_rank=local_rank,
                batch_id=f"{start}-{local_rank}",
                seen_ns=1_795_982_000_000_000_000 + start * 10**9,
            )


def cursor_of(number, source="1.log"):
    query = LogQuery(RUN, words=(f"line {number:02d}",), source=source)
    (line,) = read_lines(query).lines
    return search.line_cursor(line)


@pytest.mark.parametrize(
    ("number", "before", "after", "expected"),
    [
        (22, 2, 3, range(20, 26)),
        (22, 0, 0, range(22, 23)),
        (22, 15, 15, range(7, 38)),
        (3, 10, 1, range(5)),
        (48, 1, 10, range(47, 50)),
        (22, -4, 10_000, range(22, 50)),
    ],
)
def test_a_line_stands_between_its_neighbours(two_files, number, before, after, expected):
    page = search.around(RUN, cursor_of(number), before, after)
    assert [line.text for line in page.lines] == [f"line {n:02d}" for n in expected]
    assert {line.source for line in page.lines} == {"1.log"}


def test_few_chunks_are_opened(two_files):
    assert search.around(RUN, cursor_of(22), 2, 2).chunks_scanned == 2  # of twenty


def test_a_line_that_is_gone_has_no_context(two_files):
    missing = pack_cursor((1_795_982_000_000_000_000, -1, 3, "1.log|0|gpu-b02"))
    assert search.around(RUN, missing).lines == ()
    assert search.around(RUN + 1, cursor_of(3)).lines == ()


@pytest.mark.parametrize("file", ["", "1.log", "1.log|x|gpu-b02"])
def test_a_cursor_of_no_line_is_refused(file):
    with pytest.raises(BadCursor, match="cursor"):
        search.around(RUN, pack_cursor((0, 0, 0, file)))


def test_a_page_goes_on_behind_a_line(two_files):
    page = read_lines(LogQuery(RUN, source="1.log", after_cursor=cursor_of(47)))
    assert [line.text for line in page.lines] == ["line 48", "line 49"]
