"""read_lines, write_lines and merge_due on connections of their own."""

import threading

import pytest
from django.db import connection, transaction

from apps.logs import keeping
from apps.logs.domain.chunk.merging import MergePolicy
from apps.logs.domain.query.paging import file_key
from apps.logs.store import merging, payloads, searching
from apps.logs.store.context import context_of
from tests.log_batches import NODE, RUN, numbered, read_all, send, stored
from tests.log_samples import SEEN_NS

pytestmark = pytest.mark.django_db(transaction=True)
POLICY = MergePolicy(lines=9, min_chunks=4)
LINES = numbered(0, 60).splitlines()


def elsewhere(call):
    """The answer of a call on another connection."""
    answers = []

    def run():
        try:
            answers.append(call())
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(30)
    return answers[0]


def merge():
    return keeping.merge_due(10.0, POLICY)


@pytest.fixture
def batches():
    for number in range(20):
        text = numbered(3 * number, 3 * number + 3)
        send(text, offset=24 * number, batch_id=f"b{number}")


@pytest.fixture
def merged_at_first_read(monkeypatch):
    """Chunks are merged before the first ones of a reader are opened; what came of it."""
    get, merged = payloads.get, []

    def merging_get(run_id, places):
        monkeypatch.setattr(payloads, "get", get)
        merged.append(elsewhere(merge))
        return get(run_id, places)

    monkeypatch.setattr(payloads, "get", merging_get)
    return merged


@pytest.fixture
def merged_meanwhile(batches, merged_at_first_read):
    yield
    assert merged_at_first_read[0].chunks == 18


@pytest.mark.parametrize("newest_first", [False, True])
def test_a_page_that_is_read_meanwhile_misses_and_repeats_nothing(merged_meanwhile, newest_first):
    assert stored(limit=100, newest_first=newest_first) == (LINES[::-1] if newest_first else LINES)


@pytest.mark.parametrize("newest_first", [False, True])
def test_chunks_of_one_time_that_are_merged_unseen_are_read(
    merged_at_first_read, monkeypatch, newest_first
):
    """The larger chunk has the newest number: it must lie behind the place of the reader."""
    monkeypatch.setattr(searching, "ROWS", (2,))
    for node, batches in (("gpu-a01", 2), ("gpu-b02", 4), ("gpu-c03", 2)):
        for number in range(batches):
            text = numbered(3 * number, 3 * number + 3)
            send(text, offset=24 * number, batch_id=f"{node}-{number}", node=node)
    lines = read_all(limit=100, newest_first=newest_first)
    assert merged_at_first_read[0].chunks == 3
    assert len({(line.node, line.text) for line in lines}) == len(lines) == 24


def test_the_context_of_a_line_that_is_read_meanwhile_is_whole(merged_meanwhile):
    key = (SEEN_NS, -1, 8 * 30, file_key("job/attempt_0/1/stderr.log", 0, NODE))
    found = context_of(RUN, key, 25, 25)
    assert [line.text for line in found.lines] == LINES[5:56]


def test_two_mergers_do_the_work_once(batches):
    with transaction.atomic():
        assert merging.merge_some(RUN, POLICY).chunks == 18
        assert elsewhere(lambda: merging.merge_some(RUN, POLICY)) == merging.Merged()
    assert [line.text for line in read_all(limit=100)] == LINES


def test_a_writer_does_not_wait_for_the_merger(batches):
    with transaction.atomic():
        merging.merge_some(RUN, POLICY)
        elsewhere(lambda: send(numbered(60, 63), offset=480, batch_id="late"))
    assert stored(limit=100) == numbered(0, 63).splitlines()
