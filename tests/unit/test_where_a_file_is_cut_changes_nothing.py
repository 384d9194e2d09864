"""A file in one body reads like the same file in any number of bodies: logs.domain.carry."""

import itertools
from unittest import mock

from hypothesis import given, settings
from hypothesis import strategies as st

from apps.core.records import Severity
from apps.logs.domain.reading import carry, parsing
from apps.logs.domain.reading.lines import parse_segment
from tests.log_samples import SEEN_NS, S, meta

FRAGMENTS = (
    "Traceback (most recent call last):",
    '  File "train.py", line 7, in main',
    "    dist.all_reduce(x)",
    "    ^^^^^^",
    "RuntimeError: Connection closed by peer",
    "torch.distributed.DistBackendError: NCCL error",
    "During handling of the above exception, another exception occurred:",
    "2026-11-29 19:53:15.100 [INFO] [rank5] step 7 local_loss=1.5",
    "2026-11-29 19:53:16,5 - root - ERROR - lost",
    "[step=5/9,epoch=0]",
    "    train/loss=2.5",
    "    optim/lr=0.1",
    " iteration 5/ 9 | elapsed time per iteration (ms): 5.0 | lm loss: 2.0E+00 |",
    "10%\r20%\r30%",
    "a text that says nothing",
    "Failures:",
    "  traceback : Traceback (most recent call last):",
    "",
)
PREFIXES = ("", "[default0]:", "[default1]:", "[rank2]: ", "[rank3]: ", "1: ", "(W pid=3, ip=a) ")
INSIDE = (
    "2026-11-29T19:53:17.5Z stderr P Traceback (most ",
    "2026-11-29T19:53:17.6Z stderr F recent call last):",
    "2026-11-29T19:53:17.7Z stdout P [rank2]: ",
    "2026-11-29T19:53:17.8Z stdout F step 3 loss=2.0",
    '{"log":"half","stream":"stderr","time":"2026-11-29T19:53:18Z"}',
    '{"log":" whole\\n","stream":"stderr","time":"2026-11-29T19:53:18.5Z"}',
    '{"level":"error","ts":1795982000.5,"msg":"a\\nb","exc_info":"Traceback '
    '(most recent call last):\\n  File \\"a\\"\\nOdd","rank":3}',
)
LINE = st.tuples(st.sampled_from(PREFIXES), st.sampled_from(FRAGMENTS)).map("".join)
LINE |= st.sampled_from(INSIDE)


def read(channel, pieces, parse=parse_segment):
    """The segments of all pieces, each read with what the one before it left open."""
    segments, left, at = [], None, 0
    for data in pieces:
        segment = parse(
            meta(
                channel=channel,
                local_rank=None if channel == "console" else 1,
                offset=at,
                seen_ns=SEEN_NS,
                carry=left,
                partial=not data.endswith(b"\n"),
            ),
            data,
        )
        segments.append(segment)
        left, at = carry.unpack(segment.carry.packed()), segment.end
    return segments


def lines_of(segments):
    return [
        (line.seq, line.time_ns, line.severity, line.step, line.local_rank, line.channel, line.text)
        for segment in segments
        for line in segment.lines
    ]


def numbers_of(segments):
    """(step, name) -> (value, time); a block that was cut gives its values in two rows."""
    found = {}
    for segment in segments:
        for number in segment.job:
            for name, value in number.row.values.items():
                found.setdefault((number.row.step, name), set()).add((value, number.row.time_ns))
    return found


def cut_at(data, places):
    edges = [0, *sorted(places), len(data)]
    return [data[a:b] for a, b in itertools.pairwise(edges) if a < b]


@settings(max_examples=300)
@given(st.lists(LINE, min_size=1, max_size=14), st.sampled_from(("console", "stderr")), st.data())
def test_every_way_of_cutting_at_line_ends_gives_the_same(lines, channel, data):
    raws = [f"{line}\n".encode() for line in lines]
    cuts = data.draw(st.sets(st.integers(1, len(raws))))
    edges = [0, *sorted(cuts), len(raws)]
    pieces = [b"".join(raws[a:b]) for a, b in itertools.pairwise(edges) if a < b]

    whole, cut = read(channel, [b"".join(raws)]), read(channel, pieces)

    assert lines_of(cut) == lines_of(whole)
    assert numbers_of(cut) == numbers_of(whole)
    assert all(row in whole[0].metrics for segment in cut for row in segment.metrics)
    ranks = zip(_ranks(cut), _ranks(whole), strict=True)
    assert all(one == other or one is None for one, other in ranks)
    assert cut[-1].carry.open == whole[-1].carry.open


@given(st.lists(LINE, min_size=1, max_size=14), st.sampled_from(("console", "stderr")), st.data())
def test_the_same_holds_where_lines_are_read_by_their_shape(lines, channel, data):
    raws = [f"{line}\n".encode() for line in lines]
    cut = data.draw(st.integers(0, len(raws)))
    pieces = [b"".join(raws[:cut]), b"".join(raws[cut:])]

    with mock.patch.object(parsing, "FEW_BYTES", 0):
        by_shape = read(channel, [piece for piece in pieces if piece], parsing.parse_segment)

    assert lines_of(by_shape) == lines_of(read(channel, [b"".join(raws)]))
    assert by_shape[-1].carry.open == read(channel, [b"".join(raws)])[-1].carry.open


@given(st.lists(LINE, min_size=1, max_size=6), st.sampled_from(("console", "stderr")), st.data())
def test_a_cut_inside_a_line_makes_a_piece_and_loses_nothing(lines, channel, data):
    whole = "".join(f"{line}\n" for line in lines).encode()
    places = data.draw(st.sets(st.integers(1, max(1, len(whole) - 1)), max_size=5))

    segments = read(channel, cut_at(whole, places))

    seqs = [seq for seq, *_ in lines_of(segments)]
    inside = {place for place in places if whole[place - 1 : place] != b"\n"}
    starts = {0} | {at + 1 for at in range(len(whole) - 1) if whole[at : at + 1] == b"\n"}
    assert seqs == sorted(set(seqs))
    assert (starts | inside) <= set(seqs)
    marked = [line for line in lines_of(segments) if line[-1].startswith("[piece ")]
    at_the_end = {place for place in inside if whole[place : place + 1] == b"\n"}
    assert {seq for seq, *_ in marked} == inside - at_the_end
    assert all(step is None for _, _, _, step, *_ in marked)


def test_tracebacks_that_interleave_stay_one_event_each_over_a_cut():
    lines = [
        "[rank2]: Traceback (most recent call last):",
        "[rank3]: Traceback (most recent call last):",
        '[rank2]:   File "a.py", line 1, in f',
        "2026-11-29 19:53:15.100 [INFO] [rank4] step 7 loss=1",
        '[rank3]:   File "a.py", line 1, in f',
        "[rank2]:     f()",
        "[rank3]:     f()",
        "[rank3]: OddProblem",
        "[rank2]: OtherProblem",
        "[rank2]: going down",
    ]
    pieces = [f"{line}\n".encode() for line in lines]

    severities = [line[2] for line in lines_of(read("console", pieces))]

    assert severities == [40, 40, 40, Severity.INFO, 40, 40, 40, 40, 40, Severity.INFO]


def test_a_context_of_other_bytes_is_not_used():
    opened = parse_segment(meta(), b"Traceback (most recent call last):\n").carry

    behind_a_gap = parse_segment(meta(offset=opened.offset + 9, carry=opened), b"  x\nBoom\n")

    assert behind_a_gap.lines.severity == [20, 20]


def test_a_line_without_time_that_comes_late_has_the_time_it_was_seen():
    stamped = parse_segment(meta(), b"2026-11-29 19:53:15.000 [INFO] x\n").carry

    late = parse_segment(
        meta(offset=stamped.offset, carry=stamped, seen_ns=SEEN_NS + 60 * S), b"no stamp\n"
    )

    assert late.lines.time_ns == [SEEN_NS + 60 * S]


@given(st.binary(max_size=60))
def test_no_stored_context_can_stop_a_batch(data):
    found = carry.unpack(data)

    assert found is None or isinstance(found, carry.Carry)


def _ranks(segments):
    return [rank for segment in segments for rank in segment.lines.rank]
