"""logs.domain.triage.named and agents.first_to_end: processes and machines that only lines name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.logs.domain.reading.segments import CONSOLE
from apps.logs.domain.triage.agents import AgentLine, first_to_end, read_agent
from apps.logs.domain.triage.assemble import EventRow, assemble
from apps.logs.domain.triage.classify import taxonomy
from apps.logs.domain.triage.first_failure import first_failure
from apps.logs.domain.triage.named import Speaker, speaker
from apps.logs.domain.triage.ranks import RankState
from apps.logs.domain.triage.spot import Spot

S = 1_000_000_000
LOST = "misc/socket.cc:52 NCCL WARN socketProgress: Connection closed by remote peer n9-ib<4100>"
FULL = "include/alloc.h:181 NCCL WARN Cuda failure 'out of memory'"
SERVICE = (
    "proxy.cc:1488 NCCL WARN [Proxy Service {0}] Failed to execute operation Setup from rank {0}"
)
PEER = (
    "NET/IB : Got completion from peer 192.0.2.{}<4100> with error 12, opcode 0, len 0, "
    "vendor err 129"
)
VICTIM = "DistBackendError: NCCL error: remote process exited or there was a network error"
RAY = (
    "A worker died or was killed while executing a task by an unexpected system error. "
    "Worker IP address: 192.0.2.7 Worker port: 10021 Worker PID: 811 "
    "Worker exit type: SYSTEM_ERROR There are some potential root causes. (1) OOM killer"
)


def judge(*texts, victim=None):
    """The verdict on lines of one console that name no rank, beside those of a rank that waited."""
    rows = [
        EventRow(at, "", "job.log", CONSOLE, at * 100, None, None, 40, text)
        for at, text in enumerate(texts)
    ]
    states = [] if victim is None else [RankState("n", "rank:4", rank=4, lines=1, last_ns=S)]
    if victim is not None:
        rows.append(EventRow(S, "n", "4.log", "stderr", 0, None, 4, 40, victim))
    return first_failure(assemble(rows, states, taxonomy()), taxonomy())


def answer(*texts, victim=None):
    found = judge(*texts, victim=victim)
    first = found.suspects[0] if found.suspects else None
    return first and (first.rank, first.node, first.fault_class, found.confidence)


def nccl(pid, text, device=0, host="gpu-x1"):
    return f"{host}:{pid}:{pid + 3} [{device}] {text}"


def summary(rank, clock, code=1, host="gpu-x1"):
    return (
        "Root Cause (first observed failure):",
        f"  time      : 2026-05-04_{clock}",
        f"  host      : {host}",
        f"  rank      : {rank} (local_rank: {rank % 4})",
        f"  exitcode  : {code} (pid: {900 + rank})",
    )


def test_nccl_names_the_process_and_its_proxy_the_rank():
    assert speaker(nccl(71, FULL, 5)) == Speaker("gpu-x1", 71, None)
    assert speaker(nccl(71, SERVICE.format(5), 5)) == Speaker("gpu-x1", 71, 5)
    assert speaker("see gpu-x1:71:74 [5] for more") is None


@given(st.text(max_size=300))
def test_any_text_is_of_somebody_or_nobody(text):
    found = speaker(text)
    assert found is None or found.pid >= 0


def test_the_process_with_a_cause_of_its_own_is_named_although_its_peer_printed_first():
    lines = (nccl(70, LOST), nccl(75, FULL, 5), nccl(75, SERVICE.format(5), 5))
    assert answer(*lines) == (5, "gpu-x1", "nccl_cuda_oom", 0.45)


@pytest.mark.parametrize(
    "more", [nccl(75, SERVICE.format(1), 5), nccl(75, SERVICE.format(5), 5, host="gpu-x2")]
)
def test_a_number_that_is_not_one_process_is_no_rank(more):
    found = judge(nccl(75, FULL, 5), nccl(75, SERVICE.format(5), 5), more)
    assert found is None or not found.suspects or found.suspects[0].rank is None


def test_a_machine_that_one_names_is_a_weak_suspect_and_three_make_it_a_better_one():
    one = nccl(70, PEER.format(9))
    assert answer(one, victim=VICTIM) == (None, "192.0.2.9", "ib_completion_error", 0.4)
    others = (nccl(71, PEER.format(9)), nccl(72, PEER.format(9)))
    assert answer(one, *others, victim=VICTIM)[3] == 0.6
    assert answer(one, one, one, victim=VICTIM)[3] == 0.4


def test_two_machines_that_name_each_other_are_a_link_and_not_a_host():
    lines = (nccl(70, PEER.format(9)), nccl(71, PEER.format(8)))
    assert answer(*lines, victim=VICTIM) is None


def test_a_machine_that_is_named_is_no_failure_while_no_rank_complains():
    assert judge(nccl(70, PEER.format(9))) is None


def test_ray_names_the_machine_of_a_dead_worker_and_its_guesses_do_not_count():
    assert answer(RAY, victim=VICTIM) == (None, "192.0.2.7", "worker_died_ray", 0.4)


def test_of_several_agents_in_one_file_the_one_that_ended_long_before_is_first():
    texts = (*summary(3, "10:05:40"), *summary(6, "10:04:55", host="gpu-x2"))
    assert answer(*texts) == (6, "gpu-x2", "unknown", 0.45)


@pytest.mark.parametrize(
    "other", [summary(6, "10:05:31"), summary(6, "10:04:55", code=-15), summary(6, "25:61:61"), ()]
)
def test_ends_that_are_close_or_not_of_their_own_have_no_order(other):
    lines = [AgentLine(at, text) for at, text in enumerate((*summary(3, "10:05:40"), *other))]
    assert first_to_end([read_agent(None, lines)]) is None


def test_a_lone_rank_that_complains_of_communication_is_no_sure_suspect():
    assert answer(victim="ERR02005 DIST internal error") == (4, "n", "ascend_hccl", 0.45)


def test_a_console_that_two_hosts_send_is_one_job():
    said = [*summary(5, "10:00:00"), *summary(9, "10:00:30")]
    agents = [
        read_agent(node, [AgentLine(at, text, Spot(node)) for at, text in enumerate(said)])
        for node in ("gpu-x1", "gpu-x2")
    ]
    assert first_to_end(agents).rank == 5


@pytest.mark.parametrize("rank", [0, 3])
def test_a_line_that_tells_only_its_rank_is_of_the_process_that_has_it(rank):
    process = RankState("n", f"local:{rank}", rank=rank, local_rank=rank, lines=1, last_ns=S)
    row = EventRow(S, "n", "extra.log", "stderr", 0, None, rank, 40, FULL)
    (found,) = assemble([row], [process], taxonomy()).ranks
    assert [event.text for event in found.events] == [FULL]
