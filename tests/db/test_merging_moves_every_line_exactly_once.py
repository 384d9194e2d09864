"""apps.logs.keeping.merge_due"""

import pytest

from apps.core.sql import execute, query
from apps.logs import keeping
from apps.logs.domain.chunk.merging import MergePolicy
from apps.logs.records import LogQuery
from apps.logs.store import merging, read_lines
from tests.log_batches import NODE, RUN, numbered, read_all, send, stored

pytestmark = pytest.mark.django_db
POLICY = MergePolicy(lines=30, min_chunks=4)


def merge():
    return keeping.merge_due(10.0, POLICY)


@pytest.fixture
def batches():
    """45 lines in 15 chunks of gpu-b02, 3 of gpu-a01; two lines are errors."""
    for number in range(15):
        text = numbered(3 * number, 3 * number + 3)
        send(text, offset=24 * number, batch_id=f"b{number}")
    at = "2026-11-29 12:00:01.000 [ERROR] [rank5] "
    send(f"{at}one\n{at}two\n", node="gpu-a01", batch_id="c")
    return read_all(limit=100)


def chunks():
    return query("SELECT node, merged, lines, error FROM logs_chunk ORDER BY node, merged, lines")


def test_small_chunks_of_a_node_become_one_and_nothing_else_changes(batches):
    done = merge()
    assert (done.chunks, done.into) == (15, 2)
    assert done.after_bytes < done.before_bytes
    assert chunks() == [
        ("gpu-a01", False, 2, 2),
        (NODE, False, 15, 0),
        (NODE, True, 30, 0),
    ]
    assert read_all(limit=100) == batches
    assert read_all(limit=4) == batches
    assert read_all(limit=100, ranks=(5,)) == [line for line in batches if line.rank == 5]


def test_a_second_time_there_is_nothing_to_do(batches):
    merge()
    assert merge() == merging.Merged()


def test_what_was_left_over_is_merged_with_what_comes(batches):
    merge()
    for number in range(15, 20):
        send(numbered(3 * number, 3 * number + 3), offset=24 * number, batch_id=f"b{number}")
    merge()
    assert chunks()[1:] == [(NODE, True, 30, 0), (NODE, True, 30, 0)]
    assert len(stored()) == 62


@pytest.mark.parametrize("newest_first", [False, True])
def test_a_reader_between_two_pages_misses_and_repeats_nothing(batches, newest_first):
    page = read_lines(LogQuery(RUN, limit=20, newest_first=newest_first))
    merge()
    after = LogQuery(RUN, limit=100, newest_first=newest_first, after_cursor=page.next_cursor)
    read = [*page.lines, *read_lines(after).lines]
    assert read == (batches[::-1] if newest_first else batches)


def test_a_kill_leaves_all_or_nothing(batches, monkeypatch):
    before = chunks()

    def killed(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(merging, "add_chunks", killed)
    with pytest.raises(KeyboardInterrupt):
        merge()
    assert chunks() == before
    assert read_all(limit=100) == batches


def test_one_damaged_chunk_keeps_no_other_from_being_merged(batches):
    execute(
        "UPDATE logs_chunk SET body = 'LC damaged' WHERE chunk_id ="
        " (SELECT min(chunk_id) FROM logs_chunk)"
    )
    assert merge().chunks == 14
    assert chunks()[1:] == [(NODE, False, 15, 0), (NODE, True, 3, 0), (NODE, True, 27, 0)]
    assert merge() == merging.Merged()


def test_in_a_bucket_what_was_merged_is_one_object_and_the_old_ones_are_let_go(bucket, batches):
    assert len(bucket.objects()) == 16
    merge()
    assert len(bucket.objects()) == 17
    assert read_all(limit=100) == batches
    dropped = query("SELECT count(*) FROM logs_bundle WHERE chunks = 0 AND dropped_at <= now()")
    assert dropped[0][0] == 15
    assert query("SELECT chunks FROM logs_bundle WHERE chunks > 0 ORDER BY 1") == [(1,), (2,)]
