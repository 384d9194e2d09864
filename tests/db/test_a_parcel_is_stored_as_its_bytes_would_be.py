"""ingest.packed.write, logs.store.writing"""

import json

import msgspec
import pytest
import zstandard
from django.db import connection

from apps.ingest import store
from apps.ingest.digest import digest
from apps.ingest.envelope import Envelope
from apps.ingest.packed import write
from apps.logs.domain.parcel import opening
from apps.logs.domain.reading.carry import unpack
from apps.logs.records import LogQuery
from apps.logs.store import read_lines
from apps.runs import store as runs
from tests.factories import T0_NS
from tests.parcels import LINES, body_of, changed, content, packed, segment
from workers.tailer import parcels

pytestmark = pytest.mark.django_db

CUT = LINES.index(b"\n", 900) + 1
OTHER = b"".join(
    b"2026-11-29 19:47:%02d [%s] [rank1] saving checkpoint at iteration %d to /c/iter_%07d\n"
    % (n, b"INFO" if n % 3 else b"WARNING", n, n)
    for n in range(30)
)
CONSOLE = b"".join(b"[default%d]:[rank%d]: went on %d\n" % (n % 2, n % 2, n) for n in range(20))
PIECES = (
    (segment(LINES), LINES),
    (segment(OTHER, source="r1.log", local_rank=1, generation=2), OTHER),
    (segment(CONSOLE, source="console.log", channel="console", local_rank=None), CONSOLE),
)
KEYS = {"run_id", "source_id", "chunk_id", "tally_id", "block_id", "batch_id"}
TABLES = (
    "logs_chunk", "logs_event", "logs_source", "logs_ranklog", "logs_pulsehour", "logs_stepclock",
    "logs_template", "logs_templatetally", "logs_ranknode", "metrics_hotblock",
)  # fmt: skip


def digested(run, *bodies):
    """Writes bodies, each (door, bytes); the run and what became of them."""
    run_id = runs.ensure_run(run)
    pack = zstandard.ZstdCompressor().compress
    envelopes = [
        Envelope(1, f"{run}-{number}", door, "zstd", run_id, run, "t", T0_NS, pack(body))
        for number, (door, body) in enumerate(bodies)
    ]
    return run_id, digest(envelopes)


def rows(run_id, table):
    """All rows of a table without their keys."""
    with connection.cursor() as cursor:
        sql = f"SELECT to_jsonb(t) FROM {table} t WHERE run_id = %s"  # noqa: S608 - of TABLES
        cursor.execute(sql, [run_id])
        found = [json.loads(row) for (row,) in cursor.fetchall()]
    return sorted(({k: v for k, v in row.items() if k not in KEYS} for row in found), key=str)


def texts(run_id):
    lines = read_lines(LogQuery(run_id, limit=1_000)).lines
    return [(line.time_ns, line.source, line.seq, line.rank, line.text) for line in lines]


def counters(run_id):
    return store.counters_of([run_id])[run_id]


def test_everything_is_the_same():
    raw, _ = digested("raw", ("logs", body_of(content(*PIECES))))
    run_id, done = digested("packed", ("packed", packed(*PIECES)))
    assert (done.written, done.quarantined) == (1, 0)
    for table in TABLES:
        assert rows(run_id, table) == rows(raw, table) != [], table
    assert counters(run_id) == counters(raw)


def test_its_chunk_is_kept_as_it_came():
    body = packed(*PIECES)
    run_id, _ = digested("r", ("packed", body))
    (chunk,) = rows(run_id, "logs_chunk")
    assert body.endswith(bytes.fromhex(chunk["body"][2:]))


def test_lines_that_are_stored_already_are_left_out():
    run_id, done = digested(
        "r",
        ("logs", body_of(content((segment(LINES[:CUT]), LINES[:CUT])))),
        ("packed", packed((segment(LINES), LINES))),
    )
    assert done.written == 2
    assert len(texts(run_id)) == 40
    assert counters(run_id)["parcels_read_again"] == 1


def test_a_process_that_named_its_rank_in_another_file_has_it_here_too():
    named = b"2026-11-29 19:46:01 [INFO] [rank5] hello\n" * 3
    bare = b"2026-11-29 19:46:02 [INFO] nameless\n" * 3
    first = (segment(named, source="a"), named)
    second = (segment(bare, source="b"), bare)
    run_id, done = digested("r", ("packed", packed(first)), ("packed", packed(second)))
    assert done.quarantined == 0
    assert {one[3] for one in texts(run_id)} == {5}


def test_of_another_reader_it_is_read_again():
    body = changed(packed(*PIECES), reader=999)
    raw, _ = digested("raw", ("logs", body_of(content(*PIECES))))
    run_id, _ = digested("r", ("packed", body))
    assert texts(run_id) == texts(raw)
    assert counters(run_id)["parcels_read_again"] == 1


def test_two_parcels_of_a_file_follow_each_other():
    first, second = LINES[:CUT], LINES[CUT:]
    before = parcels.read(content((segment(first), first)), [b""]).after
    bodies = [
        ("packed", packed((segment(first), first))),
        ("packed", packed((segment(second, offset=CUT), second), before=before)),
    ]
    run_id, _ = digested("r", *bodies)
    assert len(texts(run_id)) == 40
    assert "parcels_read_again" not in counters(run_id)


def test_it_is_read_again_if_the_bytes_before_it_were_others():
    first, second = LINES[:CUT], LINES[CUT:]
    carry = unpack(parcels.read(content((segment(first), first)), [b""]).after[0])
    before = [msgspec.structs.replace(carry, time_ns=1).packed()]
    bodies = [
        ("packed", packed((segment(first), first))),
        ("packed", packed((segment(second, offset=CUT), second), before=before)),
    ]
    run_id, _ = digested("r", *bodies)
    assert len(texts(run_id)) == 40
    assert counters(run_id)["parcels_read_again"] == 1


def test_a_parcel_sent_twice_is_stored_once():
    body = ("packed", packed(*PIECES))
    run_id, _ = digested("r", body)
    _, again = digested("r", body)
    _, other = digested("r", ("logs", b""), body)
    assert (again.duplicates, other.written) == (1, 1)
    assert len(texts(run_id)) == 70  # the console's copies are there, but not read here
    assert counters(run_id)["repeated_lines"] == 90


def test_bytes_that_are_not_those_of_the_file_are_quarantined(monkeypatch):
    monkeypatch.setattr(write, "CHECKED", 1)
    body = packed((segment(LINES), LINES))
    monkeypatch.setattr(opening.zlib, "crc32", lambda _: 1)
    run_id, done = digested("r", ("packed", body))
    assert (done.written, done.quarantined) == (0, 1)
    assert texts(run_id) == []
