"""ingest.tensorboard.wire"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.errors import BadPayload
from apps.ingest.tensorboard.wire import MAX_RECORD_BYTES, read_records
from tests.event_files import framed, sample, scalar, version

RECORDS = [version(), *(scalar(step, 1.0 / (step + 1)) for step in range(40))]
DATA = framed(RECORDS)


@pytest.mark.parametrize(("writer", "records"), [("tensorboard", 25), ("tensorboardX", 8)])
def test_files_of_real_writers_are_whole(writer, records):
    read = read_records(sample(writer).read_bytes(), final=True)
    assert (len(read.records), read.problems) == (records, [])


@given(st.lists(st.binary(max_size=300), min_size=1), st.data())
def test_a_cut_anywhere_loses_and_doubles_nothing(records, data):
    whole = framed(records)
    cut = data.draw(st.integers(0, len(whole)))
    first = read_records(whole[:cut])
    rest = read_records(whole[first.next_offset :], first.next_offset, final=True)
    assert first.records + rest.records == records
    assert first.problems + rest.problems == []
    assert (first.ends + rest.ends)[-1] == len(whole)


@given(st.binary(max_size=400))
def test_any_bytes_are_read_or_refused(junk):
    try:
        read = read_records(junk, final=True)
    except BadPayload:
        return
    assert read.next_offset <= len(junk)


@given(st.integers(len(DATA) // 3, len(DATA) - 1), st.integers(1, 255))
def test_a_damaged_byte_costs_two_records_at_most(at, change):
    damaged = bytearray(DATA)
    damaged[at] ^= change
    read = read_records(bytes(damaged), final=True)
    assert len(read.problems) >= 1
    assert sum(record in read.records for record in RECORDS) >= len(RECORDS) - 2


def test_a_damaged_record_keeps_its_number():
    at = DATA.index(RECORDS[5]) + 3
    damaged = DATA[:at] + bytes([DATA[at] ^ 1]) + DATA[at + 1 :]
    read = read_records(damaged, final=True)
    assert read.records == [*RECORDS[:5], b"", *RECORDS[6:]]
    assert "wrong checksum" in read.problems[0]


def test_a_very_large_record_is_left_out_and_keeps_its_number():
    read = read_records(framed([version(), b"x" * (MAX_RECORD_BYTES + 1), scalar(1, 2.0)]))
    assert read.records == [version(), b"", scalar(1, 2.0)]


def test_a_file_that_ends_inside_a_record_says_so():
    assert "ends inside a record" in read_records(DATA[:-3], final=True).problems[0]
    assert read_records(DATA[:-3]).problems == []


def test_another_file_is_refused():
    with pytest.raises(BadPayload, match="does not begin with a record"):
        read_records(b"step,loss\n1,2.5\n2,2.4\n")
