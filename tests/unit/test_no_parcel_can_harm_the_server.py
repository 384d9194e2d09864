"""ingest.packed.parse, logs.domain.parcel.opening: parcels of agents that are broken or lie"""

from dataclasses import replace
from itertools import pairwise

import msgspec
import numpy as np
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.core.errors import BadPayload
from apps.ingest.packed.parse import parse
from apps.logs.domain.chunk.chunks import columns_of, decode_chunk, pack_chunk
from apps.logs.domain.chunk.intcolumns import pack_ints
from apps.logs.domain.parcel.wire import Row, Side
from apps.logs.domain.reading.carry import OpenBlock, OpenLine
from tests.parcels import LINES, changed, packed, segment

BODY = packed((segment(LINES), LINES))
HEAD = BODY.index(b"\n") + 1


def parts(body=BODY):
    batch = parse(body)
    rest = body.partition(b"\n")[2]
    side = zstandard.ZstdDecompressor().decompress(rest[: len(rest) - len(batch.chunk)])
    return msgspec.msgpack.decode(side, type=Side), batch.chunk


def with_parts(side, chunk):
    packed = zstandard.ZstdCompressor().compress(msgspec.msgpack.encode(side))
    return changed(BODY, side=len(packed))[: -len(BODY) + HEAD] + packed + chunk


def with_side(**changes):
    side, chunk = parts()
    return with_parts(msgspec.structs.replace(side, **changes), chunk)


def with_segment(**changes):
    side, _ = parts()
    return with_side(segments=[msgspec.structs.replace(side.segments[0], **changes)])


def with_lines(**changes):
    side, chunk = parts()
    return with_parts(side, pack_chunk(replace(columns_of(decode_chunk(chunk)), **changes)))


def column(value, dtype):
    return np.full(40, value, dtype=dtype)


def ints(value):
    return pack_ints(column(value, np.int64))


def test_an_honest_one_is_taken():
    side, chunk = parts()
    assert len(parse(with_parts(side, chunk)).opened.lines) == 40


LIES = {
    "fewer segments than described": lambda: changed(BODY, segments=[segment(LINES)] * 2),
    "a side beyond the body": lambda: changed(BODY, side=1 << 30),
    "a side of minus one": lambda: changed(BODY, side=-1),
    "fewer lines": lambda: with_segment(lines=39),
    "no lines": lambda: with_segment(lines=0),
    "a row of a line that is not there": lambda: with_segment(metrics=[Row(40, 1, 1, {"a": 1.0})]),
    "a name with NUL": lambda: with_segment(metrics=[Row(4, 1, 1, {"a\0": 1.0})]),
    "a step of minus one": lambda: with_segment(job=[Row(4, -1, 1, {"a": 1.0})]),
    "another end": lambda: changed(BODY, segments=[segment(LINES + b"x")]),
    "another beginning": lambda: changed(BODY, segments=[segment(LINES, offset=1)]),
    "another file": lambda: changed(BODY, segments=[segment(LINES, source="b")]),
    "another generation": lambda: changed(BODY, segments=[segment(LINES, generation=1)]),
    "a prefix longer than its text": lambda: with_side(
        message_at=pack_ints(column(9999, np.int64))
    ),
    "a format that is none": lambda: with_side(formats=pack_ints(column(999, np.int64))),
    "a template that is not listed": lambda: with_side(template=pack_ints(column(99, np.int64))),
    "no templates": lambda: with_side(templates=[]),
    "a template of zero": lambda: with_side(templates=[0] * 40),
    "a short column": lambda: with_side(formats=pack_ints(np.zeros(3, dtype=np.int64))),
    "an empty column": lambda: with_side(formats=b""),
    "a time before 1970": lambda: with_lines(time_ns=column(-1, np.int64)),
    "a time after 2116": lambda: with_lines(time_ns=column(2**62 + 1, np.int64)),
    "a rank below none": lambda: with_lines(rank=column(-2, np.int32)),
    "a level that is none": lambda: with_lines(severity=column(7, np.uint8)),
    "a step below none": lambda: with_lines(step=column(-5, np.int64)),
    "lines at one place": lambda: with_lines(seq=column(0, np.int64)),
    "lines outside": lambda: with_lines(seq=np.arange(40) * 1_000_000),
    "bytes of a line that is not there": lambda: with_lines(originals={40: b"x"}),
    "letters for digits": lambda: with_lines(digits=parts_digits().replace(b"1", b"x")),
    "lines in lines": lambda: with_lines(shapes=[s.replace(b" ", b"\n") for s in parts_shapes()]),
}


def parts_digits():
    return columns_of(decode_chunk(parts()[1])).digits


def parts_shapes():
    return columns_of(decode_chunk(parts()[1])).shapes


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
def test_a_lie_is_refused(lie):
    with pytest.raises(BadPayload):
        parse(lie())


TEXT = b"".join(b"[rank0] n %d x\n" % n for n in range(40))
TEXT_BODY = packed((segment(TEXT), TEXT))
LETTERS = TEXT.replace(b" n ", " é".encode())


def of_text(change=lambda shapes: shapes, *, body=TEXT_BODY, of_side=None, of_segment=None, **more):
    """The parcel of TEXT, with other shapes, columns or words beside them."""
    side, chunk = parts(body)
    lines = columns_of(decode_chunk(chunk))
    lines = replace(lines, **{"shapes": change(lines.shapes), **more})
    segments = [msgspec.structs.replace(side.segments[0], **(of_segment or {}))]
    side = msgspec.structs.replace(side, **{"segments": segments, **(of_side or {})})
    packed_side = zstandard.ZstdCompressor().compress(msgspec.msgpack.encode(side))
    header = changed(body, side=len(packed_side)).partition(b"\n")[0]
    return header + b"\n" + packed_side + pack_chunk(lines)


def with_carry(**changes):
    return of_text(of_segment={"after": msgspec.structs.replace(_carry(), **changes)})


def _carry():
    return parts(TEXT_BODY)[0].segments[0].after


def of_bytes(count):
    """The header, and what is left open, tell of another end of the file."""
    body = with_carry(offset=count)
    return changed(body, segments=[segment(TEXT, bytes=count)])


SUBTLE_LIES = {
    "NUL": (lambda: of_text(lambda all: [s.replace(b" ", b"\0") for s in all]), "no line"),
    "no UTF-8": (lambda: of_text(lambda all: [s.replace(b" ", b"\xff") for s in all]), "no line"),
    "a letter in two texts": (
        lambda: of_text(lambda all: [all[0][:-1] + b"\xc3", b"\xa9" + all[1][1:]]),
        "no line",
    ),
    "a prefix that ends in a letter": (
        lambda: of_text(body=packed((segment(LETTERS), LETTERS)), of_side={"message_at": ints(9)}),
        "inside of a letter",
    ),
    "several lines for one": (lambda: of_text(originals={3: b"[rank0]\nn 3 x"}), "several lines"),
    "a file longer than its lines": (lambda: of_bytes(len(TEXT) + 1), "outside"),
    "a file shorter by two": (lambda: of_bytes(len(TEXT) - 2), "outside"),
    "bytes that nobody reads": (lambda: of_text() + b"x" * 10_000, "say less"),
    "a level that is none": (lambda: with_carry(line=OpenLine(1, 7, 0, 0)), "Invalid enum value 7"),
    "a rank that is none": (lambda: with_carry(line=OpenLine(1, 20, 2**40, 0)), "2147483647"),
    "a known rank that is none": (lambda: with_carry(ranks=[(0, 2**40)]), "2147483647"),
    "a last time that is none": (lambda: with_carry(time_ns=2**63), "Expected `int`"),
    "a step that is none": (lambda: with_carry(block=OpenBlock("x", 2**63, 0)), "Expected `int`"),
}


@pytest.mark.parametrize(("lie", "told"), SUBTLE_LIES.values(), ids=SUBTLE_LIES)
def test_a_subtle_lie_is_refused(lie, told):
    assert len(parse(of_text()).opened.lines) == 40
    with pytest.raises(BadPayload, match=told):
        parse(lie())


def test_a_little_that_unpacks_to_much_is_refused_before_it_is_unpacked():
    """20,000 lines of one shape of a megabyte are twenty gigabytes of text."""
    side, chunk = parts()
    lines = columns_of(decode_chunk(chunk))
    many = replace(
        lines,
        **{
            name: np.repeat(getattr(lines, name)[:1], 19_999)
            for name in ("origin", "time_ns", "rank", "severity", "step", "message_at")
        },
        seq=np.arange(19_999),
        shape=np.zeros(19_999, dtype=np.int32),
        shapes=[b"x" * (1 << 20)],
        digits=b"",
    )
    segments = [msgspec.structs.replace(side.segments[0], lines=19_999)]
    with pytest.raises(BadPayload, match="bytes of text"):
        parse(with_parts(msgspec.structs.replace(side, segments=segments), pack_chunk(many)))


def test_bytes_that_are_not_those_of_the_file_are_noticed():
    with pytest.raises(BadPayload, match="not those"):
        parse(with_segment(crc=1)).unread()


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_whatever_bytes_are_changed(data):
    body = bytearray(BODY)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(body) - 1))
        body[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=4))
    try:
        batch = parse(bytes(body))
    except BadPayload:
        return
    assert_can_be_read(batch)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_whatever_the_side_says(data):
    side, chunk = parts()
    plain = msgspec.msgpack.decode(msgspec.msgpack.encode(side))
    place = data.draw(st.sampled_from([0, 1, 2, 3, 4]))
    value = data.draw(
        st.recursive(
            st.none() | st.integers(-(2**63), 2**64 - 1) | st.binary(max_size=60) | st.text(),
            lambda inner: st.lists(inner, max_size=10),
            max_leaves=12,
        )
    )
    if place == 0:
        plain[0][0][data.draw(st.integers(0, len(plain[0][0]) - 1))] = value
    else:
        plain[place] = value
    try:
        batch = parse(with_parts(plain, chunk))
    except BadPayload:
        return
    assert_can_be_read(batch)


def assert_can_be_read(batch):
    """What was taken can be stored and read; bytes that are not those of the file are told."""
    metas = [one.meta(batch.node, 0, None, None) for one in batch.segments]
    for parsed, (start, end) in zip(
        batch.opened.read(metas), pairwise(batch.opened.bounds), strict=True
    ):
        assert len(list(parsed.lines)) == end - start
        list(parsed.job)
    try:
        batch.unread()
    except BadPayload:
        pass
