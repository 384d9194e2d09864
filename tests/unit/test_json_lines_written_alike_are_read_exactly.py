"""ingest.lines.columns reads like ingest.lines.parse, logs.domain.entrycolumns like entries"""

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.ingest import entries
from apps.ingest.entries import Group, Place
from apps.ingest.lines import columns, parse
from apps.ingest.lines.columns import ColumnBatch
from apps.logs.domain.reading import entrycolumns, parsing, readings
from apps.logs.domain.reading.columns import LineColumns
from apps.logs.domain.reading.entries import parse_entries
from apps.logs.domain.reading.entrycolumns import Source, columns_of, parse_sources
from apps.logs.domain.reading.latejobs import told_in
from apps.logs.domain.reading.segments import SegmentMeta
from tests.log_samples import SEEN_NS

LEVELS = st.sampled_from(["INFO", "ERROR", "loud", None])
TEXTS = st.text(max_size=20) | st.sampled_from([
    '{"event": "timing", "step": 7, "rank": 3}', "step: 12  loss:  2.5  %)  tps: 1,000",
    "[rank5]: step 700 local_loss=1.5", "Traceback (most recent call last):", "ValueError: x",
    "[default1]:hello", "two\nlines", 'quoted "x"', "back\\slash", "é 1", "\x1b[31mred\x1b[0m",
    "rank=3 pid=77 world_size=8", "2026-11-29 10:11:12 [WARNING] late", "[rank7]: more",
])  # fmt: skip
LINE = st.fixed_dictionaries(
    {
        "ts": st.sampled_from(["2026-11-29T10:11:12.123456Z", "2026-11-30T00:00:60.000001Z"]),
        "rank": st.sampled_from([0, 3, -1, "x"]),
        "source": st.sampled_from(["train", "nccl"]),
        "level": LEVELS,
        "msg": TEXTS,
    }
)


@pytest.fixture(autouse=True)
def from_the_start(monkeypatch):
    monkeypatch.setattr(readings._books, "of", {})
    for module in (columns, entrycolumns, parsing):
        monkeypatch.setattr(module, "FEW_BYTES", 1)


def rows(batch):
    """place -> its lines, and what was counted."""
    groups = {}
    for group in batch.groups:
        said = group.columns.entries() if isinstance(batch, ColumnBatch) else group.entries()
        lines = zip(said.time_ns, said.severity, said.step, said.text, strict=True)
        groups[group.place] = list(lines)
    return groups, {name: count for name, count in batch.counts.items() if count}


def exactly(body):
    return rows(parse._read_all(body))


def body_of(lines, **options):
    return b"".join(json.dumps(line, **options).encode() + b"\n" for line in lines)


@given(st.lists(LINE, min_size=1, max_size=20), st.booleans())
def test_any_lines_are_read_alike(lines, ascii_only):
    body = body_of(lines, separators=(",", ":"), ensure_ascii=ascii_only)
    assert rows(parse.parse(body)) == exactly(body)


@given(st.binary(max_size=40), st.integers(0, 400))
def test_a_line_that_differs_is_read_alike(odd, at):
    body = body_of([{"ts": "2026-11-29T10:11:12Z", "msg": f"m {n}"} for n in range(9)],
                   separators=(",", ":"))  # fmt: skip
    body = body[: at % len(body)] + odd + body[at % len(body) :]
    assert rows(parse.parse(body)) == exactly(body)


@pytest.mark.parametrize(
    "line",
    [
        '{"ts":"2026-11-29T10:11:12Z","msg":"a","level":"INFO"}',
        '{"ts":"2026-11-29T10:11:12Z","level":"INFO","msg":"a"} ',
        '{"ts":"2026-11-29T10:11:12+01:00","level":"INFO","msg":"a"}',
        '{"ts":"2026-99-29T10:11:12Z","level":"INFO","msg":"a"}',
        '{"ts":"2026-11-29T10:11:12Z","step":7,"msg":"a"}',
        '{"ts":"2026-11-29T10:11:12Z","x":"y","msg":"a"}',
        '{"ts":1796000000,"msg":"a"}',
        '{"ts":"2026-11-29T10:11:12Z","msg":"a\tb"}',
        '{"ts":"2026-11-29T10:11:12Z","msg":"\\ud800"}',
        "",
        "plain text",
    ],
)
def test_a_body_of_odd_lines_is_read_alike(line):
    usual = '{"ts":"2026-11-29T10:11:12Z","level":"INFO","msg":"b"}'
    for body in (f"{line}\n{usual}\n{usual}", f"{usual}\n{line}\n{usual}\n", f"{line}\n" * 3):
        assert rows(parse.parse(body.encode())) == exactly(body.encode())


def test_lines_that_are_written_alike_become_columns():
    lines = [
        {"ts": "2026-11-29T10:11:12.5Z", "rank": n % 2, "level": "INFO", "msg": f'say "{n}"'}
        for n in range(50)
    ]
    batch = parse.parse(body_of(lines, separators=(",", ":")))
    assert isinstance(batch, ColumnBatch)
    assert [group.place for group in batch.groups] == [Place(rank=0), Place(rank=1)]
    assert batch.groups[1].columns.text[0] == b'say "1"'


def test_bodies_of_columns_are_joined_like_others():
    bodies = [
        body_of(
            [
                {"ts": f"2026-11-29T10:1{at}:12Z", "rank": n % 3, "level": "INFO", "msg": f"m {n}"}
                for n in range(9 + at)
            ],
            separators=(",", ":"),
        )
        for at in range(2)
    ]
    one, other = map(parse.parse, bodies)
    both = columns.join(one, other)
    assert rows(both) == rows(entries.join(*map(parse._read_all, bodies)))
    assert columns.join(one, parse._read_all(bodies[1])) is None


def said(segment):
    lines = LineColumns.of(segment.lines)
    job = [(told.family, told.read()) for told in told_in("a", 0, segment.job, None)]
    # One by one a placement has the time at which it came, together that of its line.
    placements = [replace(fact, time_ns=0) for fact in segment.placements]
    return (
        list(lines), lines.message_at.tolist(), lines.originals, list(segment.metrics),
        list(segment.metric_lines), placements, job, segment.unplaced_job_lines,
        segment.end, segment.meta.source,
    )  # fmt: skip


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(
            st.lists(st.tuples(st.sampled_from([None, 20, 40]), TEXTS), min_size=1, max_size=12),
            st.sampled_from([None, 3]),
            st.sampled_from([None, 1]),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_entries_of_many_processes_are_read_alike(processes):
    sources, single = [], []
    for number, (lines, rank, local_rank) in enumerate(processes):
        levels, texts = zip(*lines, strict=True)
        times = [SEEN_NS + at for at in range(len(lines))]
        held = Group(
            Place(rank=rank), times, list(levels), [None] * len(lines), list(texts)
        ).entries()
        meta = SegmentMeta(
            source=f"s{number}", channel="stdout", local_rank=local_rank, node="gpu-a01",
            offset=7 * number, seen_ns=SEEN_NS,
        )  # fmt: skip
        found = columns_of(held)
        if found is not None:
            sources.append(Source(meta, found))
            single.append(parse_entries(meta, held))
    for _ in range(3):  # the shapes are learned on the way
        together = parse_sources(sources)
    assert [said(one) for one in together] == [said(one) for one in single]
