"""logs.store.write_lines"""

import pytest

from apps.logs.store import contexts, sources, write_lines
from tests.log_batches import NODE, RUN, numbered, send, stored
from tests.log_samples import SEEN_NS, S, parse

pytestmark = pytest.mark.django_db

ALL = numbered(0, 10).split("\n")[:-1]


def source():
    (found,) = sources(RUN, 0)
    return found


def test_a_batch_is_counted():
    done = send("a\n2026-11-29 12:00:00 [WARNING] [rank5] x\nValueError: y\n")
    assert (done.lines, done.warnings, done.errors, done.gaps) == (3, 1, 1, 0)


def test_the_same_bytes_in_another_batching_add_nothing():
    send(numbered(0, 6))
    done = send(numbered(2, 10), offset=16)
    assert (done.lines, done.skipped_lines) == (4, 4)
    assert stored() == ALL
    assert source().skipped_lines == 4


def test_batches_that_come_in_the_wrong_order_lose_nothing():
    late = send(numbered(6, 10), offset=48)
    assert late.gaps == 1
    assert (source().gaps, source().missing_bytes) == (1, 48)
    send(numbered(0, 3))
    assert source().missing_bytes == 24
    send(numbered(0, 10))
    assert (source().gaps, source().missing_bytes) == (0, 0)
    assert sorted(stored()) == ALL


def test_lines_that_come_long_after_younger_ones_are_counted():
    first = send("2026-11-29 12:00:20 a\n2026-11-29 11:00:00 b\n")
    late = send("2026-11-29 12:00:09 c\n2026-11-29 12:00:11 d\n", node="gpu-a01")
    assert (first.late_lines, late.late_lines) == (0, 1)
    assert send("2026-11-29 12:00:00 e\n", attempt=1).late_lines == 0


def test_a_rotated_file_starts_again():
    send(numbered(0, 3))
    send(numbered(3, 6), generation=1)
    assert sorted(stored()) == ALL[:6]
    assert [s.generation for s in sources(RUN, 0)] == [0, 1]


def test_the_same_file_name_on_two_nodes_is_two_files():
    send(numbered(0, 2))
    send(numbered(2, 4), node="gpu-a01")
    assert sorted(stored()) == ALL[:4]


def test_a_batch_without_a_node_is_stored_too():
    send(numbered(0, 2), node=None)
    assert stored() == ALL[:2]


def test_many_lines_of_one_batch_make_several_chunks():
    text = "".join(f"{number}\n" for number in range(25_000))
    assert send(text).lines == 25_000
    assert len(stored(limit=5_000)) == 25_000


def test_an_empty_batch_writes_nothing():
    assert write_lines(RUN, 0, NODE, [], batch_id="b").lines == 0


def test_the_last_time_of_a_file_is_kept_for_the_parser():
    parsed = parse("2026-11-29 12:00:00 a\n")
    write_lines(RUN, 0, NODE, [parsed], batch_id="b")
    key = (parsed.meta.source, 0)
    (context,) = contexts(RUN, 0, NODE, [key[0]]).values()
    assert context.last_ns == 1_795_953_600 * S
    assert context.carry == parsed.carry
    assert parsed.meta.seen_ns == SEEN_NS
