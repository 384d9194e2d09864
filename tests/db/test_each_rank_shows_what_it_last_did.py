"""logs.store.rank_activity"""

import pytest

from apps.core.records import Severity
from apps.logs.store import rank_activity
from apps.runs import store as runs
from apps.runs.records import PlacementInfo
from tests.log_batches import RUN, send

pytestmark = pytest.mark.django_db

DAY = "2026-11-29 12:00:"


def line(second, rank, text):
    return f"{DAY}{second:02d}.000 [INFO] [rank{rank}] {text}\n"


def test_last_line_last_step_and_worst_severity():
    text = line(1, 5, "step 10 loss=1.5") + "ValueError: x\n" + line(2, 5, "waiting")
    send(text)
    (seen,) = rank_activity(RUN, 0)
    assert (seen.rank, seen.node, seen.local_rank) == (5, "gpu-b02", 1)
    assert (seen.last_step, seen.lines, seen.worst_severity) == (10, 3, Severity.ERROR)
    assert seen.last_ns == 1_795_953_602_000_000_000
    assert seen.last_text.endswith("waiting")


def test_a_later_batch_goes_on():
    send(line(1, 5, "step 10 loss=1.5"))
    send(line(2, 5, "step 20 loss=1.4"), offset=60)
    (seen,) = rank_activity(RUN, 0)
    assert (seen.last_step, seen.lines) == (20, 2)


def test_console_copies_are_not_counted_beside_rank_files():
    send(line(1, 5, "step 10 loss=1.5"))
    copy = "[default1]:" + line(1, 5, "step 10 loss=1.5")
    send(copy, channel="console", local_rank=None, source="console")
    assert rank_activity(RUN, 0)[0].lines == 1


def test_a_console_alone_tells_of_all_its_ranks():
    text = "[default1]:" + line(1, 5, "step 10 x=1") + "[default0]:" + line(1, 4, "step 10 x=1")
    send(text, channel="console", local_rank=None, source="console")
    assert [(a.rank, a.local_rank, a.lines) for a in rank_activity(RUN, 0)] == [
        (4, 0, 1),
        (5, 1, 1),
    ]


def test_a_placed_rank_without_a_line_is_there():
    runs.record_placements(RUN, 0, [PlacementInfo(3, "gpu-a01", 3, None)])
    (silent,) = rank_activity(RUN, 0)
    assert (silent.rank, silent.node, silent.last_ns, silent.lines) == (3, "gpu-a01", None, 0)


def test_a_process_that_never_names_its_rank_gets_it_from_its_place():
    runs.record_placements(RUN, 0, [PlacementInfo(5, "gpu-b02", 1, None)])
    send("hello\n")
    assert [(a.rank, a.lines) for a in rank_activity(RUN, 0)] == [(5, 1)]
