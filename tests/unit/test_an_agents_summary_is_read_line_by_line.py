"""logs.domain.agents"""

import pytest

from apps.logs.domain.triage.agents import AgentLine, read_agent

SUMMARY = """\
Sending process 2111 closing signal SIGTERM
failed (exitcode: -9) local_rank: 1 (pid: 2113) of binary: /opt/venv/bin/python
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
Failures:
[1]:
  time      : 2026-11-29_19:48:45
  host      : gpu-a01
  rank      : 0 (local_rank: 0)
  exitcode  : -15 (pid: 2111)
  traceback : Signal 15 (SIGTERM) received by PID 2111
Root Cause (first observed failure):
[0]:
  host      : gpu-a01
  rank      : 5 (local_rank: 1)
  exitcode  : -9 (pid: 2113)
"""


def read(text):
    lines = [AgentLine(number, line) for number, line in enumerate(text.splitlines())]
    return read_agent("gpu-a01", lines)


def test_exits_signals_and_the_named_root():
    facts = read(SUMMARY)
    assert facts.signalled == {2111: 0}
    assert [(e.rank, e.local_rank, e.pid, e.code) for e in facts.exits] == [
        (5, 1, 2113, -9),
        (0, 0, 2111, -15),
    ]
    assert facts.named_root == 5
    assert facts.failed


def test_the_first_report_of_an_exit_keeps_its_time():
    (killed, _) = read(SUMMARY).exits
    assert (killed.time_ns, killed.host) == (1, "gpu-a01")
    assert killed.text.startswith("failed (exitcode: -9)")


@pytest.mark.parametrize(
    ("rank", "local_rank", "pid", "code"),
    [(5, None, None, -9), (None, None, 2113, -9), (None, 1, 2113, -9), (7, 3, 9, None)],
)
def test_an_exit_is_found_by_what_is_known(rank, local_rank, pid, code):
    found = read(SUMMARY).exit_of(rank, local_rank, pid)
    assert (found.code if found else None) == code


@pytest.mark.parametrize(
    ("line", "signal"),
    [
        ("...api.SignalException: Process 439 got signal: 2", 2),
        ("Received Signals.SIGTERM death signal, shutting down workers", 15),
        ("Received 15 death signal", 15),
        ("all is well", None),
    ],
)
def test_an_agent_that_was_stopped_says_by_what(line, signal):
    facts = read(line)
    assert (facts.stopped_by, facts.failed) == (signal, False)
