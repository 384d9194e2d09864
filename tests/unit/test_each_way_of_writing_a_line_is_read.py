"""One example of each way a program begins its lines: time, level, rank, message."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.records import Severity
from apps.logs.domain.reading.headers import Clock, read_headers
from tests.log_samples import SEEN_NS

I, W, E, C = Severity.INFO, Severity.WARNING, Severity.ERROR, Severity.CRITICAL  # noqa: E741
EXAMPLES = {
    "dmesg, since boot": ("[171167.620236] NVRM: Xid 79", None, None, None, "NVRM: Xid 79"),
    "dmesg, since the line before": ("[  +0.000300] NVRM: x", None, None, None, "NVRM: x"),
    "dmesg -T": ("[Sun Feb  1 16:24:18 2026] x", "2026-02-01T16:24:18", None, None, "x"),
    "dmesg, decoded, ISO": (
        "kern  :warn  : 2026-01-21T04:41:44,285060+01:00 NVRM: Xid 13",
        "2026-01-21T03:41:44.285060", None, None, "NVRM: Xid 13",
    ),
    "dmesg, decoded, an error": ("kern  :err   : [   12.345678] bad", None, E, None, "bad"),
    "/dev/kmsg": ("3,3973,227996636,-,caller=T1;EDAC bad", None, E, None, "EDAC bad"),
    "syslog": (
        "<6>Nov  9 19:46:03 gpu-a01 slurmstepd[12]: *** STEP", "2026-11-09T19:46:03", None, None,
        "*** STEP",
    ),
    "fabric manager": (
        "[Feb 25 2026 13:59:45] [INFO] [tid 1803] freed", "2026-02-25T13:59:45", I, None, "freed",
    ),
    "Ray, around glog": (
        "(RayWorkerWrapper pid=71, ip=10.0.0.2) [rank1]:[E1124 13:23:05.5 a.cpp:6] [Rank 1] late",
        "2026-11-24T13:23:05.500000", E, 1, "[Rank 1] late",
    ),
    "Ray, rank in its name": ("(TrainWorker(rank=3) pid=77) hello", None, None, 3, "hello"),
    "glog of old, without a date": (
        "[E ProcessGroupNCCL.cpp:458] [Rank 0] Watchdog", None, E, None, "[Rank 0] Watchdog",
    ),
    "glog, month without its zero": (
        "W415 01:48:44.25 TCPStore.cpp:106] sent", "2026-04-15T01:48:44.250000", W, None, "sent",
    ),
    "glog with a year": (
        "E20261124 13:23:05.5 12 a.cc:12] x", "2026-11-24T13:23:05.500000", E, None, "x",
    ),
    "absl before it starts": (
        "I0000 00:00:1795981583.250000    1234 cuda.cc:1] x", "2026-11-29T19:46:23.250000", I, None,
        "x",
    ),
    "NeMo": (
        "[NeMo W 2026-11-29 19:46:03 nemo_logging:381] x", "2026-11-29T19:46:03", W, None, "x",
    ),
    "Go": ("2026/11/29 19:46:03 x", "2026-11-29T19:46:03", None, None, "x"),
    "Accelerate": (
        "11/29/2026 19:46:03 - INFO - __main__ - x", "2026-11-29T19:46:03", I, None, "__main__ - x",
    ),
    "rich": ("[11/29/26 19:46:03] INFO     x", "2026-11-29T19:46:03", I, None, "x"),
    "vLLM": ("WARNING 11-29 19:46:03 [llm.py:12] x", "2026-11-29T19:46:03", W, None, "x"),
    "loguru": (
        "2026-11-29 19:46:03.125 | ERROR    | train:main:12 - x", "2026-11-29T19:46:03.125000", E,
        None, "x",
    ),
    "Hydra": (
        "[2026-11-29 19:46:03,125][__main__][INFO] - x", "2026-11-29T19:46:03.125000", I, None, "x",
    ),
    "level first": ("INFO 2026-11-29 19:46:03 x", "2026-11-29T19:46:03", I, None, "x"),
    "logrus": (
        'time="2026-11-29T19:46:03+01:00" level=error msg="x"', "2026-11-29T18:46:03", E, None,
        'msg="x"',
    ),
    "HCCL": (
        "[ERROR] 2026-07-14-19:45:13 (PID:3, Device:11, RankID:43) ERR02005 x",
        "2026-07-14T19:45:13", E, 43, "ERR02005 x",
    ),
    "Megatron's memory report": (
        "[Rank 60] (after 20 iterations) memory", None, None, 60, "(after 20 iterations) memory",
    ),
    "Composer": (
        "2026-11-29 19:46:03,125: rank5[12][MainThread]: INFO: composer.trainer: x",
        "2026-11-29T19:46:03.125000", I, 5, "composer.trainer: x",
    ),
    "Unix seconds": ("1795981583.250 x", "2026-11-29T19:46:23.250000", None, None, "x"),
    "a bar that a dying process did not end": (
        "Epoch 0:  41%|####    | 5/12 [00:05<00:07,  6.1it/s, loss=2.2][rank2]: Traceback (most",
        None, None, 2, "Traceback (most",
    ),
    "a bar of Lightning with many numbers": (
        "Epoch 0:   6%|██     | 32040/500150 [6:28:43<94:39:17,  1.37it/s, "
        f"{'loss=2.6, ' * 30}v_num=9][E ProcessGroupNCCL.cpp:458] late",
        None, E, None, "late",
    ),
    "a bar alone": ("50%|## | 1/2 [00:01<00:01]", None, None, None, "50%|## | 1/2 [00:01<00:01]"),
    "a NUL that a child left": ("\u2400[rank1]: Traceback", None, None, 1, "Traceback"),
    "the runtime's stamp around all that": (
        "2026-11-29T19:12:32.5Z stderr F [E a.cpp:4] x", "2026-11-29T19:12:32.500000", E, None, "x",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_line_is_read(name):
    line, time, level, rank, message = EXAMPLES[name]

    heads = read_headers([line], Clock(SEEN_NS), tee=False)

    assert (_time(heads.time_ns[0]), heads.level[0], heads.rank[0]) == (time, level, rank)
    assert heads.body == [message]


def test_a_process_of_ray_has_a_label():
    lines = ["(W pid=71, ip=10.0.0.2) a", "(W pid=72, ip=10.0.0.2) b", "(raylet) c", "d"]

    heads = read_headers(lines, Clock(SEEN_NS), tee=True)

    assert heads.labels == {0: "10.0.0.2:71", 1: "10.0.0.2:72", 2: ":"}


@pytest.mark.parametrize(
    ("day", "year"), [("1129", 2026), ("1130", 2026), ("1202", 2025), ("112", 2026), ("229", 2024)]
)
def test_a_stamp_without_a_year_is_never_of_the_future(day, year):
    found = Clock(SEEN_NS).glog(day, "12:00:00", None)

    assert datetime.fromtimestamp(found / 1e9, UTC).year == year


@given(st.text(max_size=120))
def test_a_text_is_cut_and_nothing_else(text):
    line = text.replace("\n", " ")

    heads = read_headers([line], Clock(SEEN_NS), tee=True)

    assert line.endswith(heads.body[0])


def _time(time_ns):
    if time_ns is None:
        return None
    return datetime.fromtimestamp(time_ns / 1e9, UTC).replace(tzinfo=None).isoformat()
