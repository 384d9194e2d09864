"""The framing of `.wandb` files: growing files, damage, wrong files."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.errors import BadPayload
from apps.ingest.wandb.wire import BLOCK_BYTES, HEADER, read_records
from tests.wandb_records import frame

RECORDS = [b"a" * 50, b"b" * 40_000, b"c", b"d" * 100_000, b"e" * 300]
SIZES = st.lists(
    st.one_of(st.integers(0, 300), st.integers(32_700, 32_800), st.integers(60_000, 99_000)),
    max_size=12,
)


@given(sizes=SIZES, share=st.floats(0, 1))
def test_a_file_cut_anywhere_and_read_on_later_gives_every_record_once(sizes, share):
    records = [bytes([65 + i]) * size for i, size in enumerate(sizes)]
    data = frame(records)
    cut = int(len(data) * share)

    first = read_records(data[:cut])
    rest = read_records(data[first.next_offset :], first.next_offset, final=True)

    assert first.records + rest.records == records
    assert first.problems + rest.problems == []
    assert (first.ends + rest.ends)[-1:] == [len(data)] * bool(records)


def test_the_end_of_a_record_is_where_the_next_one_is_read():
    data = frame(RECORDS)
    ends = read_records(data).ends

    assert read_records(data[ends[2] :], ends[2]).records == RECORDS[3:]


def test_a_damaged_chunk_costs_the_rest_of_its_block_and_is_reported():
    data = bytearray(frame([b"x" * 1000] * 100))
    data[40_000] ^= 0xFF

    read = read_records(bytes(data), final=True)

    assert read.problems == [
        "byte 39287: wrong checksum, 26249 bytes skipped",
        "byte 65536: chunk of type 4 without a start, skipped",
    ]
    assert 60 < len(read.records) < 100
    assert read.next_offset == len(data)


def test_a_damaged_first_part_is_reported_once_with_its_orphans():
    data = bytearray(frame(RECORDS))
    data[100] ^= 0xFF

    read = read_records(bytes(data), final=True)

    assert read.records == [RECORDS[0], *RECORDS[2:]]
    assert [problem.split(":")[1] for problem in read.problems] == [
        " wrong checksum, 32704 bytes skipped",
        " chunk of type 4 without a start, skipped",
    ]


def test_damage_in_a_block_that_is_still_written_waits_for_the_whole_block():
    data = bytearray(frame([b"x" * 1000] * 30))
    data[20_000] ^= 0xFF

    read = read_records(bytes(data))

    assert read.problems == []
    assert read.next_offset < 20_000
    assert read.next_offset == read.ends[-1]


def test_a_length_beyond_its_block_is_damage():
    data = bytearray(frame([b"x" * 1000] * 100))
    data[7 + 4 : 7 + 6] = b"\xff\xff"

    read = read_records(bytes(data), final=True)

    assert "length 65535 goes beyond the block" in read.problems[0]
    assert len(read.records) > 60


def test_an_incomplete_tail_is_a_problem_only_when_the_file_is_final():
    data = frame(RECORDS)[:-10]

    assert read_records(data).problems == []
    assert "the file ends inside a record (297 bytes" in read_records(data, final=True).problems[0]


def test_a_zeroed_block_is_passed_over():
    data = frame([b"x" * 1000] * 20)
    data += bytes(BLOCK_BYTES - len(data)) + bytes(BLOCK_BYTES)

    assert read_records(data) == (
        [b"x" * 1000] * 20,
        2 * BLOCK_BYTES,
        [],
        read_records(data).ends,
    )


@pytest.mark.parametrize("size", [0, 3, 6])
def test_a_header_still_being_written_is_waited_for(size):
    assert read_records(HEADER[:size]) == ([], 0, [], [])
    assert "inside its header" in read_records(HEADER[:size], final=True).problems[0]


@pytest.mark.parametrize("data", [b"hello, world", b"{", b"\x00" * 20])
def test_another_file_is_refused_with_what_to_send(data):
    with pytest.raises(BadPayload, match=r"byte 0: starts with .* send a file that `wandb` wrote"):
        read_records(data)


def test_an_unknown_version_is_read_and_reported():
    data = bytearray(frame([b"x"]))
    data[6] = 1

    read = read_records(bytes(data))

    assert read.records == [b"x"]
    assert read.problems == ["byte 4: unknown file version e1be01, read as e1be00"]


@given(st.binary(max_size=300))
def test_garbage_behind_the_header_raises_nothing(data):
    read = read_records(HEADER + data, final=True)

    assert read.next_offset <= len(HEADER) + len(data)
