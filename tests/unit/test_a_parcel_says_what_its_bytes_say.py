"""logs.domain.parcel: packing and opening, workers.tailer.parcels"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.ingest.logs.parse import parse as parse_raw
from apps.ingest.packed.parse import parse
from apps.logs.domain.reading.carry import unpack
from apps.logs.domain.reading.parsing import parse_segment
from tests.failure_cases import SAMPLES
from tests.parcels import LINES, body_of, content, opened, segment
from tests.unit.test_lines_read_by_shape_are_read_exactly import FORMS, said
from workers.tailer import parcels

FILES = sorted(SAMPLES.glob("**/*.log"))[:40]
digits = st.text(alphabet="0123456789", min_size=1, max_size=12)
lines = st.tuples(st.sampled_from(FORMS), digits).map(
    lambda both: "".join(
        both[1][n % len(both[1])] if c in "#@" else c for n, c in enumerate(both[0])
    )
)
raw = st.one_of(
    st.lists(lines, min_size=1, max_size=90).map(lambda all: "\n".join([*all, ""]).encode()),
    st.binary(min_size=1, max_size=400),
)


def assert_says_the_same(content, before):
    """The parcel of raw segments, opened, is what the server reads in the segments themselves."""
    read = parcels.read(content, before)
    batch = parse_raw(body_of(content))
    carries = [unpack(one or None) for one in before]
    parsed = [
        parse_segment(one.meta("gpu-a01", 0, carry, None), data, one.policy())
        for (one, data), carry in zip(batch.segments, carries, strict=True)
    ]
    assert [unpack(one) for one in read.after] == [one.carry for one in parsed]
    if read.content is None:
        return False
    parcel = parse(body_of(read.content))
    metas = [one.meta for one in parsed]
    assert list(map(said, parcel.opened.read(metas))) == list(map(said, parsed))
    assert parcel.unread().segments == batch.segments
    return True


@settings(max_examples=60, deadline=None)
@given(st.lists(raw, min_size=1, max_size=3), st.sampled_from([("stderr", 1), ("console", None)]))
def test_any_bytes(pieces, kind):
    channel, local = kind
    described = [
        (segment(data, source=f"f{n}", channel=channel, local_rank=local), data)
        for n, data in enumerate(pieces)
    ]
    assert_says_the_same(content(*described), [b""] * len(pieces))


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_the_sample_files(path):
    data = path.read_bytes()
    assert_says_the_same(content((segment(data), data)), [b""])


def test_a_file_in_two_parcels():
    first, second = LINES[:900], LINES[900:]
    before = parcels.read(content((segment(first), first)), [b""]).after
    rest = content((segment(second, offset=900), second))
    assert assert_says_the_same(rest, before)


def test_a_last_line_without_its_end():
    data = LINES[:-7]
    assert assert_says_the_same(content((segment(data, partial=True), data)), [b""])


def test_a_file_that_was_begun_as_bytes_goes_on_as_bytes():
    read = parcels.read(content((segment(LINES, offset=50), LINES)), [b""])
    assert read.content is None
    assert read.after == [b""]


def test_records_of_a_container_keep_their_bytes():
    data = b'{"log":"one\\n","stream":"stderr","time":"2026-11-29T19:46:03.1Z"}\n' * 3
    assert assert_says_the_same(content((segment(data), data)), [b""])


def test_a_line_that_comes_in_pieces_goes_as_bytes():
    data = LINES + b"x" * 70_000 + b"\n"
    assert not assert_says_the_same(content((segment(data), data)), [b""])


def test_more_lines_than_a_parcel_holds_go_as_bytes():
    data = b"x 1\n" * 20_001
    assert parcels.read(content((segment(data), data)), [b""]).content is None
    assert len(opened((segment(data[4:]), data[4:])).opened.lines) == 20_000


@pytest.mark.parametrize(
    "numbers", [" ".join(f"a{n}=1.5" for n in range(300)), f"{'a' * 400}=1.5"], ids=["many", "long"]
)
def test_more_numbers_than_a_row_holds_go_as_bytes(numbers):
    data = f"[rank0] step 1 {numbers}\n".encode()
    assert parcels.read(content((segment(data), data)), [b""]).content is None


@pytest.mark.parametrize("more", [{}, {"time_shift_ns": -(2**61)}])
def test_lines_of_times_that_no_parcel_has_go_as_bytes(more):
    data = LINES + b"2200-01-01 00:00:00 [INFO] [rank0] a clock that is off\n" * (not more)
    assert parcels.read(content((segment(data), data), **more), [b""]).content is None


def test_what_is_left_open_is_remembered_at_any_time_that_lines_have():
    data = b"2200-01-01 00:00:00 [INFO] [rank0] a clock that is off\n"
    (after,) = parcels.read(content((segment(data), data)), [b""]).after
    assert unpack(after).time_ns > 2**62


def test_a_generation_bears_its_number():
    parcel = opened((segment(LINES, generation=3), LINES))
    assert {one.source for one in parcel.opened.lines.origins} == {"job_1/attempt_0/0/stderr.log#3"}
