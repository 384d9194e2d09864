"""logs.domain.triage.course: the sentence, the lanes, the ten lines; bounded whatever the job."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.core.rankspans import spans
from apps.logs.domain.triage.agents import AgentFacts, Exit
from apps.logs.domain.triage.case import AttemptFacts, RankFacts
from apps.logs.domain.triage.classify import taxonomy
from apps.logs.domain.triage.course import course_of
from apps.logs.domain.triage.first_failure import first_failure
from apps.logs.domain.triage.keylines import MAX_LINES
from apps.logs.domain.triage.lanes import MAX_LANES
from apps.logs.domain.triage.roots import Event
from apps.logs.domain.triage.spot import Spot

S = 10**9
PEER = "RuntimeError: [/x/gloo/transport/tcp/pair.cc:547] Connection closed by peer [192.0.2.1]:4"
TIMEOUT = "RuntimeError: [/x.cc:78] Timed out waiting 60000ms for recv operation to complete"
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1 GiB"
LINES = [PEER, TIMEOUT, OOM, "KeyError: 'x'", "NCCL WARN Net : broken", "just words"]


def rank(number, *lines, at_s=0, width=4):
    node, source = f"gpu-{number // width}", f"{number}.log"
    events = tuple(
        Event(
            at_s * S, source, at, 40, text, taxonomy().classify(text),
            Spot(node, source, at, number),
        )
        for at, text in enumerate(lines)
    )  # fmt: skip
    return RankFacts(number, node, number % width, 100 + number, events, at_s * S, 10, "step 10")


def agent(node, *exits, signalled=(), names=None):
    ends = tuple(Exit(n, n % 4, 100 + n, code, 9 * S, "failed (exitcode)") for n, code in exits)
    return AgentFacts(node, dict.fromkeys(signalled, 9 * S), ends, names, None)


def course(*ranks, agents=()):
    facts = AttemptFacts(tuple(ranks), tuple(agents))
    return course_of(facts, first_failure(facts, taxonomy()))


def test_the_sentence_says_who_began_and_who_followed():
    told = course(rank(0, PEER, at_s=3), rank(1, OOM, at_s=1), rank(2, PEER, at_s=4))
    assert told.first.startswith("Rank 1 on gpu-0 failed first: CUDA out of memory")
    assert told.first.endswith(
        "; 2.0 s later 2 other ranks followed (Gloo connection closed by peer)."
    )


def test_a_lane_shows_each_part():
    told = course(
        rank(0, TIMEOUT, at_s=70),
        rank(1, at_s=9),
        rank(2, TIMEOUT, at_s=71),
        agents=[agent("gpu-0", (0, 1), (1, -15), (2, 1), signalled=[101], names=0)],
    )
    hung, waited = told.lanes.lanes[:2]
    assert (hung.ranks, hung.blamed) == ("1", True)
    assert [m.part for m in hung.marks] == ["initiating", "teardown"]
    assert [m.part for m in waited.marks] == ["cascade", "teardown"]
    assert waited.marks[0].start_ns == 10 * S
    assert waited.marks[0].end_ns == 70 * S


def test_whom_torchrun_names_is_said_to_be_innocent():
    told = course(rank(0, PEER), rank(1, OOM), agents=[agent("gpu-0", (0, 1), (1, 1), names=0)])
    assert told.innocent[0].startswith(
        "torchrun on gpu-0 names rank 0: a victim, it only complains"
    )


def test_each_message_is_shown_once_and_leads_to_its_line():
    told = course(*(rank(n, PEER, at_s=n) for n in range(6)), rank(6, OOM, OOM, "KeyError: 7"))
    assert [line.text for line in told.lines] == [OOM, "KeyError: 7", PEER]
    assert told.lines[2].why == "the first of 6 ranks that say so"
    assert told.lines[0].spot == Spot("gpu-1", "6.log", 0, 6)


def test_what_is_open_says_what_would_decide_it():
    told = course(*(rank(n, PEER) for n in range(4)))
    assert any("launcher printed" in text for text in told.decide)
    assert any("Flight recorder" in text for text in told.decide)
    assert course(rank(0, PEER), rank(1, OOM), rank(2, PEER)).decide == ()


def test_sixteen_thousand_ranks_fit_on_a_page():
    ranks = [rank(n, TIMEOUT, at_s=60 + n % 5, width=8) for n in range(16_384)]
    ranks[777] = rank(777, OOM, width=8)
    told = course(*ranks)
    assert [lane.count for lane in told.lanes.lanes] == [1, 16_383]
    assert told.lanes.lanes[1].ranks == "0-776, 778-16383"
    assert told.lanes.lanes[1].node_count == 2_048
    assert len(told.lines) == 2


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.tuples(st.lists(st.sampled_from(LINES), max_size=5), st.integers(0, 90)),
        min_size=1,
        max_size=24,
    )
)
def test_it_is_bounded_and_loses_no_rank(said):
    ranks = [rank(n, *lines, at_s=at) for n, (lines, at) in enumerate(said)]
    facts = AttemptFacts(tuple(ranks))
    verdict = first_failure(facts, taxonomy())
    if verdict is None:
        return
    told = course_of(facts, verdict)
    assert len(told.lines) <= MAX_LINES
    assert len(told.lanes.lanes) <= MAX_LANES
    assert sum(lane.count for lane in told.lanes.lanes) + told.lanes.left_out == len(ranks)
    times = [line.time_ns for line in told.lines]
    assert times == sorted(times)


@pytest.mark.parametrize(
    ("ranks", "words"),
    [
        ([], ""),
        ([3], "3"),
        ([2, 0, 1, 7, 9, 8, 2], "0-2, 7-9"),
        (range(0, 40, 2), "0, 2, 4, 6, 8, 10, 12, 14, and 12 more"),
    ],
)
def test_ranks_are_said_in_few_characters(ranks, words):
    assert spans(ranks) == words
