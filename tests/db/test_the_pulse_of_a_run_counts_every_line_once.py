"""logs.search.pulse and rank_matrix, logs.store.pulse"""

import numpy as np
import pytest

from apps.logs import search
from apps.logs.records import LogQuery
from apps.logs.store import read_lines
from apps.logs.store.chunkquery import where_of
from tests.log_batches import RUN, send

pytestmark = pytest.mark.django_db

START_NS = 1_795_953_600_000_000_000  # 2026-11-29 12:00 UTC
MINUTE_NS = 60 * 10**9


def line(minute, rank, level="INFO"):
    return f"2026-11-29 {12 + minute // 60:02d}:{minute % 60:02d}:07.000 [{level}] [rank{rank}] x\n"


def two_nodes():
    send(line(0, 0) + line(1, 0, "ERROR") + line(61, 0), node="a", batch_id="a1")
    send(line(1, 0, "WARNING") + line(62, 0), node="a", offset=500, batch_id="a2")
    send(line(1, 5) + line(2, 5, "WARNING"), node="b", batch_id="b1")


def test_lines_are_counted_by_minute_severity_and_node():
    two_nodes()
    pulse = search.pulse(RUN, 0, None, None, 100)
    assert pulse.edges_ns.tolist() == [START_NS + m * MINUTE_NS for m in range(64)]
    assert pulse.severities == (10, 20, 30, 40, 50)
    busy = {m: row.tolist() for m, row in enumerate(pulse.counts) if row.any()}
    assert busy == {
        0: [0, 1, 0, 0, 0],
        1: [0, 1, 1, 1, 0],
        2: [0, 0, 1, 0, 0],
        61: [0, 1, 0, 0, 0],
        62: [0, 1, 0, 0, 0],
    }
    assert {node: int(counts.sum()) for node, counts in pulse.nodes.items()} == {"a": 5, "b": 2}


def test_a_window_is_cut_into_whole_minutes():
    two_nodes()
    pulse = search.pulse(RUN, None, START_NS + MINUTE_NS, START_NS + 62 * MINUTE_NS - 1, 3)
    assert (np.diff(pulse.edges_ns) // MINUTE_NS).tolist() == [21, 21, 21]
    assert pulse.counts.sum(axis=1).tolist() == [4, 0, 2]


def test_the_matrix_holds_the_worst_of_each_rank():
    two_nodes()
    matrix = search.rank_matrix(RUN, 0, None, START_NS + 3 * MINUTE_NS - 1, 10)
    assert matrix.ranks.tolist() == [0, 5]
    assert matrix.worst.tolist() == [[20, 40, 0], [0, 20, 30]]


def test_a_batch_that_comes_again_counts_once():
    two_nodes()
    two_nodes()
    assert search.pulse(RUN, 0, None, None, 100).counts.sum() == 7


def test_console_copies_count_only_where_no_file_was_sent():
    console = {"channel": "console", "local_rank": None, "source": "console"}
    copies = "".join(f"[default1]:{line(minute, 5)}" for minute in (0, 1))
    send(copies, node="b", **console)
    assert search.pulse(RUN, 0, None, None, 9).counts.sum() == 2
    send(line(0, 5), node="b", batch_id="file")
    assert search.pulse(RUN, 0, None, None, 9).counts.sum() == 1
    assert search.rank_matrix(RUN, 0, None, None, 9).worst.tolist() == [[20]]
    assert len(read_lines(LogQuery(RUN)).lines) == 1


def test_a_run_without_lines_has_one_empty_bucket():
    pulse, matrix = (f(RUN, None, None, None, 9) for f in (search.pulse, search.rank_matrix))
    assert (pulse.counts.sum(), len(pulse.edges_ns), pulse.nodes) == (0, 2, {})
    assert matrix.worst.shape == (0, 1)


def nodes_asked(**query):
    """Conditions on the node with which chunks are looked for."""
    where = where_of(LogQuery(RUN, **query), query.get("rank_spans", ()))
    return [value for test, value in zip(where.tests, where.values, strict=True) if "node" in test]


def test_chunks_of_a_rank_are_looked_for_on_its_nodes():
    two_nodes()
    send(line(3, 7) + line(90, 5), node="c", batch_id="c1")
    assert nodes_asked(attempt=0, rank_spans=((0, 0),)) == ["a"]
    assert sorted(nodes_asked(attempt=0, rank_spans=((5, 6),))[0]) == ["b", "c"]
    assert nodes_asked(rank_spans=((7, 7),)) == ["c"]
    assert nodes_asked(rank_spans=((3, 3),)) == [[]]
    assert nodes_asked(rank_spans=((0, 99),)) == []


def test_a_rank_that_speaks_first_within_a_known_hour_is_found():
    two_nodes()
    send(line(2, 3), node="a", offset=900, batch_id="a3", local_rank=3, source="3.log")
    page = read_lines(LogQuery(RUN, ranks=(3,)))
    assert [entry.node for entry in page.lines] == ["a"]
