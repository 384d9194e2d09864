"""logs.domain.triage.waits: the wait that a timeout states."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.logs.domain.triage.case import AttemptFacts, RankFacts
from apps.logs.domain.triage.classify import taxonomy
from apps.logs.domain.triage.first_failure import first_failure
from apps.logs.domain.triage.roots import Event
from apps.logs.domain.triage.waits import waited_ns

S, MS = 10**9, 10**6
WATCHDOG = (
    "[Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=71, OpType=ALLREDUCE,"
    " NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600052 milliseconds before timing out."
)


@pytest.mark.parametrize(
    ("text", "waited_ms"),
    [
        (WATCHDOG, 600_052),
        ("RuntimeError: [/x.cc:78] Timed out waiting 60000ms for recv operation", 60_000),
        ("DistStoreError: wait timeout after 300000ms, keys: /0//cpu//0", 300_000),
        ("WorkNCCL(SeqNum=9, Timeout(ms)=120000) timed out in blocking wait.", 120_000),
        ("ran for 99999999999 milliseconds", 0),
        ("KeyError: 'time'", 0),
    ],
)
def test_the_stated_wait_is_read(text, waited_ms):
    assert waited_ns(text) == waited_ms * MS


@given(st.text(max_size=300))
def test_no_text_breaks_it(text):
    assert waited_ns(text) >= 0


def waiting(rank, at_ns, progress_ns=None):
    event = Event(at_ns, "f", 0, 40, WATCHDOG, taxonomy().classify(WATCHDOG))
    return RankFacts(rank, f"gpu-{rank}", 0, rank, (event,), at_ns, 70, "", progress_ns=progress_ns)


def test_the_failure_began_when_the_first_rank_began_to_wait():
    facts = AttemptFacts((waiting(0, 700 * S), waiting(1, 701 * S), waiting(2, 702 * S)))
    verdict = first_failure(facts, taxonomy())
    assert verdict.onset_ns == 700 * S - 600_052 * MS
    assert verdict.evidence[0].time_ns == 700 * S


def test_no_wait_began_before_the_newest_step_and_a_line_without_a_time_came_that_much_later():
    carried = waiting(0, 100 * S, progress_ns=99 * S)
    began_ns, told_ns = carried.span_of(carried.events[0])
    assert began_ns == 99 * S
    assert told_ns == 99 * S + 600_052 * MS


def test_a_line_that_tells_of_no_wait_is_as_old_as_it_says():
    plain = replace(carried_event := waiting(0, S).events[0], text="KeyError: 'x'")
    assert waiting(0, S).span_of(plain) == (carried_event.time_ns, carried_event.time_ns)
