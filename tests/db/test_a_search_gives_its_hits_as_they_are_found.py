"""logs.search.scan and page"""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.logs import search
from apps.logs.domain.chunk.merging import MergePolicy
from apps.logs.domain.query.querytext import parse_query
from apps.logs.domain.query.ranksets import BadQuery
from apps.logs.models import Chunk
from apps.logs.records import LogQuery
from apps.logs.store import searching
from apps.logs.store.merging import merge_some
from apps.logs.store.opened import OPENED
from tests.log_batches import RUN, send

pytestmark = pytest.mark.django_db

LEVELS = ["INFO", "INFO", "WARNING", "ERROR"]


def line(number):
    """Line of rank number % 4, one a second, one step a minute."""
    level = LEVELS[number // 4 % 4]
    text = f"step {number // 60} shard {number} café"
    at = f"2026-11-29 12:{number // 60:02d}:{number % 60:02d}.000"
    return f"{at} [{level}] [rank{number % 4}] {text}\n"


@pytest.fixture
def many_chunks():
    """240 lines of four ranks, twelve chunks, two nodes, times overlap."""
    for start in range(12):
        text = "".join(line(number) for number in range(start, 240, 12))
        node = f"gpu-{start % 2}"
        place = {"node": node, "source": f"{node}/{start % 4}.log", "local_rank": start % 4}
        send(text, batch_id=str(start), offset=start * 10_000, **place)


def numbers(lines):
    return [int(entry.text.split()[-2]) for entry in lines]


def bodies_read(captured):
    return [query for query in captured.captured_queries if "body, size_bytes" in query["sql"]]


def found(text, **changes):
    """Numbers of all lines of a query text, page by page."""
    cursor, all_of_them = None, []
    while True:
        query = parse_query(text).into(LogQuery(RUN, after_cursor=cursor, limit=7, **changes))
        page = search.page(query)
        all_of_them += numbers(page.lines)
        cursor = page.next_cursor
        if cursor is None:
            return all_of_them


@pytest.mark.parametrize(
    ("text", "keep"),
    [
        ("", lambda n: True),
        ("rank:1-2", lambda n: n % 4 in (1, 2)),
        ("node:gpu-1", lambda n: n % 2),
        ("node:gpu-1,gpu-0 rank:3", lambda n: n % 4 == 3),
        ("level>=error", lambda n: n // 4 % 4 == 3),
        ("level:warning", lambda n: n // 4 % 4 == 2),
        ("source:/3.log", lambda n: n % 4 == 3),
        ("step:1-2", lambda n: n // 60 in (1, 2)),
        ("step:3-", lambda n: n >= 180),
        ('"shard 7" -shard', lambda n: False),
        ('"shard 7" -77', lambda n: str(n).startswith("7") and "77" not in str(n)),
        ("SHARD", lambda n: False),
        ("/ SHARD 1[0-5] /i", lambda n: 10 <= n <= 15),
        ("/shard 1. caf.$/", lambda n: 10 <= n <= 19),
        ("/^shard/", lambda n: False),
        (r"/\A2026-.* 9 café\z/", lambda n: n == 9),
        ("CAFÉ /shard 12 /i", lambda n: n == 12),
        ("/[^x]*\\s+shard 12 c/", lambda n: n == 12),
    ],
)
def test_a_query_text_finds_its_lines_in_order(many_chunks, text, keep):
    expected = [number for number in range(240) if keep(number)]
    assert found(text) == expected
    assert found(text, newest_first=True) == expected[::-1]


@pytest.fixture
def small_steps(monkeypatch):
    """A part for each chunk, and few rows at once."""
    monkeypatch.setattr(searching, "PROGRESS_S", -1)
    monkeypatch.setattr(searching, "ROWS", (2, 3))
    monkeypatch.setattr(searching, "ROWS_SIEVED", (2, 3))
    monkeypatch.setattr(searching, "WINDOW", (1, 2))


def test_parts_come_as_they_are_found(many_chunks, small_steps):
    parts = list(search.scan(LogQuery(RUN, limit=1_000)))
    assert numbers(line for part in parts for line in part.lines) == list(range(240))
    assert [part.done for part in parts] == [False] * (len(parts) - 1) + [True]
    assert [part.chunks_scanned for part in parts] == [*range(12), 12]
    assert [part.chunks_total for part in parts] == [2, 2] + [12] * 11


def test_a_search_goes_on_behind_any_of_its_parts(many_chunks, small_steps):
    given = []
    for part in search.scan(LogQuery(RUN, limit=50)):
        given += numbers(part.lines)
        rest = search.page(LogQuery(RUN, limit=1_000, after_cursor=part.next_cursor))
        assert given + numbers(rest.lines) == list(range(240))


@pytest.mark.parametrize("newest_first", [False, True])
@pytest.mark.parametrize("when", [0, 1, 4, 9])
def test_chunks_that_are_merged_meanwhile_lose_and_double_nothing(
    many_chunks, small_steps, when, newest_first
):
    given = []
    for number, part in enumerate(search.scan(LogQuery(RUN, newest_first=newest_first, limit=999))):
        given += numbers(part.lines)
        if number == when:
            assert merge_some(RUN, MergePolicy(min_chunks=2)).chunks == 12
    assert given == sorted(range(240), reverse=newest_first)


def test_a_search_out_of_time_is_partial_and_goes_on(many_chunks):
    cursor, given = None, []
    while True:
        page = search.page(LogQuery(RUN, words=("shard 99 ",), max_s=0, after_cursor=cursor))
        given += numbers(page.lines)
        if not page.partial:
            break
        cursor = page.next_cursor
    assert given == [99]


def test_a_bad_regex_is_refused_before_anything_is_read(django_assert_num_queries):
    with django_assert_num_queries(0), pytest.raises(BadQuery, match="no lookaround"):
        next(search.scan(LogQuery(RUN, regex="(?=x)")))


def test_a_step_that_nobody_named_finds_nothing(many_chunks):
    assert found("step:99") == []


def test_a_chunk_that_was_read_is_not_read_again(many_chunks):
    OPENED.clear()
    with CaptureQueriesContext(connection) as first:
        lines = found("rank:1")
    with CaptureQueriesContext(connection) as again:
        assert found("rank:1") == lines
    assert bodies_read(first)
    assert not bodies_read(again)


def test_lines_of_a_chunk_that_was_deleted_are_not_given_from_memory(many_chunks):
    assert len(found("")) == 240
    Chunk.objects.filter(run_id=RUN, node="gpu-1").delete()
    assert len(found("")) == 120
