"""logs.domain.first_failure: the rule on injected cases and on made-up facts."""

import pytest

from apps.logs.domain.triage.agents import AgentFacts, Exit
from apps.logs.domain.triage.case import AttemptFacts, RankFacts
from apps.logs.domain.triage.classify import taxonomy
from apps.logs.domain.triage.first_failure import first_failure
from apps.logs.domain.triage.roots import Event
from tests.failure_cases import injected, rank_logs, verdict_of

S = 1_000_000_000
PEER = "RuntimeError: [/x/gloo/transport/tcp/pair.cc:547] Connection closed by peer [192.0.2.1]:4"
TIMEOUT = "RuntimeError: [/x.cc:78] Timed out waiting 60000ms for recv operation to complete"
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1 GiB"


def event(text, at_s=0, severity=40):
    return Event(at_s * S, f"f{text[:3]}", 0, severity, text, taxonomy().classify(text))


def rank(number, *lines, at_s=0, step=10):
    return RankFacts(
        rank=number,
        node=f"gpu-{number // 2}",
        local_rank=number % 2,
        pid=100 + number,
        events=tuple(event(line, at_s) for line in lines),
        last_ns=at_s * S,
        last_step=step,
        last_text="step 10",
    )


def agent(node, *exits, signalled=(), stopped_by=None):
    ends = tuple(Exit(n, n % 2, 100 + n, code, 9 * S, "failed") for n, code in exits)
    return AgentFacts(node, dict.fromkeys(signalled, 9 * S), ends, None, stopped_by)


def judge(*ranks, agents=(), **more):
    return first_failure(AttemptFacts(tuple(ranks), tuple(agents), **more), taxonomy())


def answer(verdict):
    first = verdict.suspects[0]
    return first.rank, first.node, first.fault_class


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ("v-oom-torchrun", (2, "node-b", "cuda_oom")),
        ("cr-console", (1, "node-a", "py_exception")),
        ("nots-console", (3, "node-b", "exit_sigsegv")),
    ],
)
def test_the_injected_fault_is_found(case, expected):
    assert answer(verdict_of(injected(case))) == expected


def test_a_fault_that_every_rank_shows_names_no_rank():
    verdict = verdict_of(rank_logs("nan-perrank"))
    assert verdict.fault.id == "loss_scale_min"
    assert verdict.not_derivable
    assert verdict.group == (0, 1, 2, 3)
    assert all(suspect.rank is None for suspect in verdict.suspects)


def test_a_victim_with_the_earlier_clock_is_still_a_victim():
    verdict = judge(rank(0, PEER, at_s=1), rank(1, OOM, at_s=5), rank(2, PEER, at_s=1))
    assert answer(verdict) == (1, "gpu-0", "cuda_oom")
    assert len(verdict.suspects) == 1


def test_a_rank_that_left_with_code_0_is_found():
    agents = [agent("gpu-0", (0, 1), (1, 1)), agent("gpu-1", (3, 1))]
    verdict = judge(rank(0, PEER), rank(1, PEER), rank(2), rank(3, PEER), agents=agents)
    assert answer(verdict) == (2, "gpu-1", "early_exit_zero")


def test_a_rank_its_agent_had_to_stop_hung():
    agents = [agent("gpu-0", (0, 1), (1, 1)), agent("gpu-1", (2, 1), (3, -15), signalled=[103])]
    verdict = judge(rank(0, TIMEOUT), rank(1, TIMEOUT), rank(2, TIMEOUT), rank(3), agents=agents)
    assert answer(verdict) == (3, "gpu-1", "hang_no_error")
    assert verdict.confidence >= 0.75


def test_a_kill_that_followed_the_agents_own_signal_is_no_cause():
    agents = [agent("gpu-0", (0, -9), (1, -9), signalled=[101])]
    assert answer(judge(rank(0), rank(1), agents=agents)) == (0, "gpu-0", "exit_sigkill")


def test_an_abort_after_a_communication_error_is_a_consequence():
    agents = [agent("gpu-0", (0, -6), (1, -6))]
    assert answer(judge(rank(0, TIMEOUT), rank(1), agents=agents)) == (1, "gpu-0", "exit_sigabrt")


def test_two_causes_within_a_second_are_told_apart_by_what_they_are():
    verdict = judge(rank(0, "KeyError: 'x'"), rank(1, OOM), rank(2, PEER), rank(3, PEER))
    assert [s.rank for s in verdict.suspects] == [1, 0]
    assert verdict.confidence < 0.75


def test_only_victims_means_not_derivable():
    verdict = judge(rank(0, PEER), rank(1, PEER), rank(2, PEER), rank(3, PEER))
    assert verdict.not_derivable
    assert not verdict.suspects
    assert verdict.confidence == 0


def test_a_run_that_somebody_stopped_is_no_failure():
    agents = [agent("gpu-0", stopped_by=15)]
    stopped = rank(0, "Traceback (most recent call last):", "KeyboardInterrupt")
    assert judge(stopped, rank(1, PEER), agents=agents) is None


def test_no_error_no_verdict():
    assert judge(rank(0), rank(1)) is None


def test_the_kernels_word_confirms_a_rank_of_its_node():
    xid = event("NVRM: Xid (PCI:0000:1a:00): 48, pid=7, name=python, double bit error")
    ecc = "torch.AcceleratorError: CUDA error: uncorrectable ECC error encountered"
    verdict = judge(rank(0, PEER), rank(2, ecc), node_events=(("gpu-1", xid),))
    assert answer(verdict) == (2, "gpu-1", "cuda_ecc_uncorrectable")
    assert any("Xid" in e.text for e in verdict.evidence)


def test_the_kernels_word_alone_names_the_node():
    xid = event("NVRM: Xid (PCI:0000:1a:00): 79, pid=7, GPU has fallen off the bus.")
    verdict = judge(rank(0, PEER), rank(2), node_events=(("gpu-1", xid),))
    assert answer(verdict) == (None, "gpu-1", "xid_79")


def test_the_end_of_the_allocation_blames_no_machine():
    line = "error: *** JOB 7 ON gpu-9 CANCELLED AT 2026-05-27T21:52:36 DUE TO TIME LIMIT ***"
    verdict = judge(rank(0, PEER), rank(1, PEER), node_events=(("gpu-9", event(line)),))
    assert verdict.fault.id == "slurm_time_limit"
    assert not verdict.suspects
