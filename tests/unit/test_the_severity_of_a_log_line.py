"""logs.domain.lines: severity from the level, else from what the text says."""

import pytest

from apps.core.records import Severity
from tests.log_samples import console, only, parse


@pytest.mark.parametrize(
    ("text", "severity"),
    [
        ("2026-11-29 19:51:27.606 [WARNING] [rank5] train: waiting", Severity.WARNING),
        ("2026-11-29 19:51:27.606 [INFO] [rank5] train: CUDA error in a comment", Severity.INFO),
        ("[2026-11-29 19:51:27,1] [DEBUG] [stage3.py:90:f] [Rank 3] x", Severity.DEBUG),
        ("2026-11-29 19:51:27,1 - root - CRITICAL - x", Severity.CRITICAL),
        ("E1129 19:52:29.2 3010 torch/x.py:986] x", Severity.ERROR),
        ("gpu-a01:1:1 [0] NCCL INFO Channel 00/64 : 0", Severity.INFO),
        ("gpu-a01:1:1 [0] init.cc:904 NCCL WARN Duplicate GPU detected", Severity.WARNING),
        ("x.py:3: UserWarning: deprecated", Severity.WARNING),
        ("ValueError: bad shape", Severity.ERROR),
        ("KeyboardInterrupt", Severity.ERROR),
        ("slurmstepd: error: something odd", Severity.ERROR),
        ("terminate called after throwing an instance of 'X'", Severity.ERROR),
        ("nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Non-fatal, Link 32", Severity.WARNING),
        ("frame #3: c10d::timeout + 0x145 (0x7b in libtorch.so)", Severity.INFO),
        ("wandb: Tracking run", Severity.INFO),
        ("", Severity.INFO),
    ],
)
def test_one_line(text, severity):
    assert only(parse(text + "\n")).severity == severity


def test_a_traceback_is_an_error_until_its_last_line():
    parsed = parse(
        "Traceback (most recent call last):\n"
        '  File "train.py", line 1, in <module>\n'
        "    main()\n"
        "    ^^^^^^\n"
        "MyOwnProblem\n"
        "after it\n"
    )
    assert parsed.lines.severity == [40, 40, 40, 40, 40, 20]


def test_tracebacks_of_two_processes_do_not_mix():
    parsed = console(
        "[default0]:Traceback (most recent call last):\n"
        "[default1]:loading shard 3\n"
        "[default0]:  while reading\n"
        "[default0]:Boom\n"
        "[default0]:loading shard 4\n"
    )
    assert parsed.lines.severity == [40, 20, 40, 40, 20]


def test_torchruns_summary_is_an_error_line_by_line():
    parsed = console("Failures:\n[1]:\n  rank      : 6 (local_rank: 2)\n  exitcode  : 1 (pid: 3)\n")
    assert set(parsed.lines.severity) == {Severity.ERROR}
