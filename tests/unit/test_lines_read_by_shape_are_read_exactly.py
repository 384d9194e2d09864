"""logs.domain.parsing gives what logs.domain.lines gives: readings, lineheads, rawtext, latejobs"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.logs.domain.pattern.templates import template_id, template_of_shape
from apps.logs.domain.reading import lines, parsing, readings
from apps.logs.domain.reading.columns import LineColumns
from apps.logs.domain.reading.latejobs import told_in
from apps.logs.domain.reading.segments import ParsePolicy, SegmentMeta
from apps.logs.domain.reading.shapes import shaped
from tests.failure_cases import SAMPLES
from tests.log_samples import SEEN_NS

# `#` is a digit, `@` one of a hexadecimal number; each line comes with many of them.
FORMS = [
    "2026-11-#9T1#:#4:#3.######Z [rank#]:[titan] 2026-11-2# 10:11:12,### - root - INFO - step: ####"
    "  loss: #.####  grad_norm: #.##  memory: ##.#GiB(##.##%)  tps: #,###  tflops: #.#  mfu: ##.#%",
    " [2026-11-#9 10:11:1#] iteration ####/ 115311 | elapsed time per iteration (ms): ###.# |"
    " lm loss: #.###E+00 | grad norm: #.### | number of nan iterations:   # |",
    "[2026-1#-#9 2#:##:##,###] [DEBUG] [stage3.py:###:run] [Rank #] numel #### stream 0x@@@@@@@@",
    "gpu-00#:###:### [#] NCCL INFO AllReduce: opCount @@@@ sendbuff 0x7f@@@@@@ comm 0x@@@@",
    "[rank#]:[E1129 10:11:##.####### ProcessGroupNCCL.cpp:###] [Rank #] Watchdog caught collective"
    " operation timeout: WorkNCCL(SeqNum=####) ran for ###### milliseconds before timing out.",
    "kernel: [1000##.######] NVRM: Xid (PCI:0000:1a:00): ##, pid=####, name=python",
    "step ### local_loss=#.### data_time=0.####",
    "[rank#]: Traceback (most recent call last):",
    '[rank#]:   File "/workspace/train.py", line ###, in main',
    "[rank#]:     losses = step(batch)",
    "[rank#]: RuntimeError: CUDA error ### at 0x@@@@@@@@",
    "[default#]:[rank#]: step ### loss=#.#",
    "#: iteration      ##/     ### | loss ###",
    "2026-11-29T10:11:##+05:30 stderr F 2026-11-29 04:41:## INFO x - step ##",
    "rank=# pid=#### world_size=## host=gpu-b0# device=NVIDIA H200 #",
    "2026-99-99 99:99:99 step ## of ###",
    "{'loss': #.##, 'epoch': #.#}",
    "WARNING slow batch: waited ### ms for shard_#####.bin é ###",
    "\x1b[3#mcolour ##\x1b[0m",
    "  3%|#         | ##/### [00:0#<00:##]\r  9%|##        | ##/### [00:##<00:##]",
    "er#ror and id @@@@-@@@@ of 0x@@ and @@@@@@",
    "<#>Nov 2# 10:11:## gpu-b0# kernel: oom ##",
    "1795981###.### [#] went on ##",
    "",
    "(##)",
]
CHANNELS = [("stderr", 1), ("stdout", None), ("console", None)]


def said(parsed):
    """Everything of a segment, in one form."""
    columns = LineColumns.of(parsed.lines)
    job = [(told.family, told.read()) for told in told_in("a", 0, parsed.job, None)]
    return {
        "lines": list(columns),
        "message_at": columns.message_at.tolist(),
        "originals": columns.originals,
        "metrics": (list(parsed.metrics), list(parsed.metric_lines)),
        "job": job,
        "carry": parsed.carry,
        "rest": (
            parsed.end, parsed.placements, parsed.invalid_utf8_bytes, parsed.long_lines,
            parsed.unplaced_job_lines,
        ),
    }  # fmt: skip


def both(meta, data, policy=None):
    """The same data, read by shape and exactly."""
    return said(parsing.parse_segment(meta, data, policy)), said(
        lines.parse_segment(meta, data, policy)
    )


@st.composite
def written(draw):
    """A line of a known form with digits of its own."""
    form = draw(st.sampled_from(FORMS))
    chance = draw(st.randoms(use_true_random=False))
    spread = "".join(
        chance.choice("0123456789")
        if one == "#"
        else chance.choice("0123456789abcdef")
        if one == "@"
        else one
        for one in form
    )
    return spread.encode()


@pytest.fixture(autouse=True)
def from_the_start(monkeypatch):
    monkeypatch.setattr(readings._books, "of", {})
    monkeypatch.setattr(parsing, "FEW_BYTES", 1)


@settings(max_examples=60)
@given(
    st.lists(st.lists(written() | st.binary(max_size=30), max_size=25), min_size=2, max_size=4),
    st.sampled_from(CHANNELS),
    st.sampled_from([ParsePolicy(), ParsePolicy(3600, tasks_are_ranks=True, alone=True)]),
    st.booleans(),
)
def test_any_bytes_are_read_alike(parts, place, policy, partial):
    channel, local_rank = place
    offset, carry = 0, None
    for number, part in enumerate([*parts, parts[0]]):
        end = b"" if partial and number == len(parts) else b"\n"
        data = b"\n".join(part) + end
        meta = SegmentMeta(
            source="a.log", channel=channel, local_rank=local_rank, node="gpu-b01", offset=offset,
            seen_ns=SEEN_NS, carry=carry, partial=not end,
        )  # fmt: skip
        by_shape, exact = both(meta, data, policy)
        assert by_shape == exact
        offset, carry = offset + len(data), exact["carry"]


@pytest.mark.parametrize("form", FORMS)
def test_lines_of_each_form_are_read_alike(form):
    pieces = []
    for number in range(30):
        digits, hexes = f"{number * 7919 + 11:020d}", f"{number * 2654435761:020x}"
        at = iter(digits[::-1] * 9)
        hexed = iter(hexes[::-1] * 9)
        pieces.append("".join(
            next(at) if one == "#" else next(hexed) if one == "@" else one for one in form
        ))  # fmt: skip
    data = "\n".join(pieces).encode() + b"\n"
    for channel, local_rank in CHANNELS:
        for offset in (0, len(data)):
            meta = SegmentMeta(
                source="a.log", channel=channel, local_rank=local_rank, node=None, offset=offset,
                seen_ns=SEEN_NS,
            )  # fmt: skip
            by_shape, exact = both(meta, data)
            assert by_shape == exact


@pytest.mark.parametrize("path", sorted(SAMPLES.rglob("*.log")), ids=lambda path: path.name)
def test_recorded_files_are_read_alike(path):
    data = path.read_bytes()
    for channel, local_rank in CHANNELS:
        meta = SegmentMeta(
            source=path.name, channel=channel, local_rank=local_rank, node="gpu-b01", offset=0,
            seen_ns=SEEN_NS,
        )  # fmt: skip
        for _ in range(3):
            by_shape, exact = both(meta, data)
            assert by_shape == exact


@given(st.lists(written(), min_size=1))
def test_lines_that_differ_in_hex_digits_have_one_template(texts):
    shapes = readings.without_digits([shaped(text) for text in texts])
    assert [template_of_shape(shape) for shape in shapes] == [
        template_id(text.decode()) for text in texts
    ]


@given(st.lists(st.text("abf0x =@/zG", max_size=20), max_size=6))
def test_words_of_hex_digits_are_hidden_wherever_they_stand(texts):
    shapes = [text.encode() for text in texts]
    hidden = [
        readings._HEX.sub(lambda found: found[0][:1] + b"\xff" * (len(found[0]) - 1), shape)
        for shape in shapes
    ]
    assert readings.hidden_hex(shapes) == hidden


def test_a_reading_is_learned_when_a_shape_comes_again():
    data = b"".join(b"[rank%d]: step %02d of %02d\n" % (at % 8, at, at + 1) for at in range(40))
    meta = SegmentMeta(
        source="a", channel="stderr", local_rank=0, node=None, offset=0, seen_ns=SEEN_NS
    )
    parsing.parse_segment(meta, data)
    book = readings.book(tee=False, tasks_are_ranks=False)
    assert book.names == [b"[rank0]: step 00 of 00"]
    assert bool(book.rows[0]["usable"])


def test_a_line_whose_digits_decide_what_it_means_has_no_reading():
    data = b"".join(b"NVRM: Xid (PCI:0000:1a:00): %02d, pid=1\n" % at for at in range(40, 99))
    meta = SegmentMeta(
        source="a", channel="console", local_rank=None, node=None, offset=0, seen_ns=SEEN_NS
    )
    by_shape, exact = both(meta, data)
    assert by_shape == exact
    assert len({line.severity for line in exact["lines"]}) > 1
    book = readings.book(tee=True, tasks_are_ranks=False)
    assert not book.rows["usable"][: len(book.names)].any()
