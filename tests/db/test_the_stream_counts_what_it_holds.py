"""ingest.stream against a real Valkey: append, hand out, take over, finish."""

import pytest

from apps.ingest import stream
from apps.ingest.stream import Appended


@pytest.fixture
def add(valkey):
    """Appends a body and gives the answer."""
    stream.make_group()

    def append(
        data=b"12345", sender="7", now_s=0, rate_limit=1000, requests_limit=100, max_bytes=1000
    ):
        limits = stream.AppendLimits(rate_limit, requests_limit, max_bytes)
        return stream.append([data], sender=sender, now_s=now_s, limits=limits)

    return append


def read(consumer="a"):
    return stream.read_new(consumer, stream.ReadLimits(10, 1 << 20, 1 << 20), 1)


def test_what_is_done_is_gone_to_the_last_byte(add):
    add(b"12345")
    add(b"123")
    entries = read()
    assert [entry.data for entry in entries] == [b"12345", b"123"]
    assert (stream.backlog().entries, stream.backlog().bytes) == (2, 8)
    stream.done(entries[:1])
    assert (stream.backlog().entries, stream.backlog().bytes) == (1, 3)
    stream.done(entries[1:])
    assert stream.backlog() == stream.Backlog(0, 0, None)
    assert stream.pending("a", 10) == {}


def test_finishing_twice_counts_once(add):
    add()
    add()
    entries = read()
    stream.done(entries[:1])
    stream.done(entries[:1])
    assert stream.backlog().bytes == 5


def test_the_oldest_entry_has_an_age(add, valkey):
    add()
    seconds, _ = valkey.time()
    assert abs(stream.backlog().oldest_ns / 1e9 - seconds) < 60


@pytest.mark.parametrize(
    ("bounds", "answer"),
    [
        ({}, Appended.OK),
        ({"rate_limit": 8}, Appended.RATE),
        ({"requests_limit": 1}, Appended.REQUESTS),
        ({"max_bytes": 8}, Appended.FULL),
    ],
)
def test_a_bound_is_named(add, bounds, answer):
    add()
    assert add(**bounds) is answer


def test_the_first_entry_is_let_in_whatever_its_size(add):
    assert add(rate_limit=1, max_bytes=1) is Appended.OK


def test_the_next_second_is_a_new_window(add):
    add(rate_limit=8)
    assert add(rate_limit=8, now_s=1) is Appended.OK


def test_each_sender_has_its_own_window(add):
    add(rate_limit=8)
    assert add(rate_limit=8, sender="8") is Appended.OK


def test_what_is_refused_counts_nowhere(add):
    add(max_bytes=8)
    add(max_bytes=8)
    assert add(b"123", rate_limit=8, max_bytes=8) is Appended.OK


def test_windows_do_not_pile_up(add, valkey):
    add()
    assert 0 < valkey.ttl(f"{stream.RATE}7:0") <= 3


def test_an_entry_deleted_by_hand_does_not_fill_the_stream_for_ever(add, valkey):
    add()
    valkey.delete(stream.STREAM)
    stream.make_group()
    assert add(max_bytes=8) is Appended.OK
    assert stream.backlog().bytes == 5


def test_the_count_is_right_again_once_the_stream_is_empty(add, valkey):
    add()
    add()
    lost, rest = read()
    valkey.xdel(stream.STREAM, lost.id)
    stream.done([rest])
    assert stream.backlog().bytes == 0


def test_a_dead_consumers_entries_are_taken_over(add):
    add()
    read("dead")
    assert stream.claim_abandoned("heir", 10, idle_ms=0) == 1
    (entry,) = stream.take("heir", stream.pending("heir", 10))
    assert (entry.data, entry.deliveries) == (b"12345", 2)
    assert stream.pending("dead", 10) == {}


def test_a_living_consumers_entries_are_left_alone(add):
    add()
    read("busy")
    assert stream.claim_abandoned("other", 10, idle_ms=60_000) == 0


def test_each_handing_out_is_counted(add):
    add()
    read()
    stream.take("a", stream.pending("a", 10))
    assert list(stream.pending("a", 10).values()) == [2]


def test_a_pending_entry_that_was_deleted_is_forgotten(add, valkey):
    add()
    (entry,) = read()
    valkey.xdel(stream.STREAM, entry.id)
    assert stream.take("a", stream.pending("a", 10)) == []
    assert stream.pending("a", 10) == {}


def test_making_the_group_again_changes_nothing(add):
    add()
    stream.make_group()
    assert len(read()) == 1
