"""logs.store.clocks"""

import pytest

from apps.core.sql import query
from apps.logs import store
from apps.logs.domain.clock.skew import ENTRY_BYTES, KEPT
from tests.log_batches import RUN, send, stored

pytestmark = pytest.mark.django_db


def steps(first, last, off_s=0.0):
    """Step lines of one rank, one a second on a clock that is off."""
    return "".join(
        f"2026-11-29 12:{number // 60:02d}:{number % 60 + off_s:06.3f} step: {number} loss: 2.5\n"
        for number in range(first, last)
    )


def test_the_clock_of_each_host_against_the_others():
    for node, off_s in (("n0", 0.0), ("n1", 0.25), ("n2", 0.0)):
        for first in range(0, 40, 10):
            text = steps(first, first + 10, off_s)
            send(text, node=node, offset=first * 50, batch_id=f"{node}-{first}")
    found = {clock.node: clock for clock in store.clocks(RUN, 0)}
    assert {node: clock.skew_ns for node, clock in found.items()} == {
        "n0": 0,
        "n1": 250_000_000,
        "n2": 0,
    }
    assert found["n1"].steps == 40
    assert [node for node, clock in found.items() if clock.apart] == ["n1"]
    assert "12:00:39.250 step: 39" in stored(limit=500)[-1]


def test_what_is_kept_of_a_host_is_bounded_and_the_newest():
    offset = 0
    for first in range(0, 400, 50):
        text = steps(first, first + 50)
        send(text, node="n0", offset=offset, batch_id=str(first))
        offset += len(text)
    ((body,),) = query("SELECT body FROM logs_stepclock")
    assert len(body) == KEPT * ENTRY_BYTES
