"""logs.domain.headers: stamps that occur in training logs."""

import pytest

from tests.log_samples import SEEN_NS, S, only, parse

NOON = 1_795_953_600 * S  # 2026-11-29 12:00:00 UTC


@pytest.mark.parametrize(
    ("text", "expected_ns"),
    [
        ("2026-11-29 12:00:00.842 [INFO] [rank5] train: x", NOON + 842_000_000),
        ("2026-11-29 12:00:00,5 INFO x", NOON + 500_000_000),
        ("[2026-11-29 12:00:01] gpu-a01:3634:3634 [0] init.cc:904 NCCL WARN x", NOON + S),
        (" [2026-11-29 12:00:00,123] iteration 1/ 2 |", NOON + 123_000_000),
        ("2026-11-29T12:00:00.123456789Z x", NOON + 123_456_789),
        ("2026-11-29T14:00:00+02:00 x", NOON),
        ("2026-11-29T06:30:00.5-0530 x", NOON + 500_000_000),
        ("E1129 12:00:00.202000 3010 torch/x/api.py:986] failed", NOON + 202_000_000),
        (
            "[rank0]:[W1129 12:00:00.750187537 ProcessGroupNCCL.cpp:1575] Warning",
            NOON + 750_187_537,
        ),
        ("[rank3]:[titan] 2026-11-29 12:00:00,007 - root - INFO - step:  3", NOON + 7_000_000),
    ],
)
def test_the_stamp_gives_the_time(text, expected_ns):
    assert only(parse(text + "\n")).time_ns == expected_ns


def test_a_glog_month_may_lack_its_zero_and_takes_the_nearest_year():
    line = only(parse("E415 06:24:44.160366013 1 x.cpp:1] x\n", seen_ns=1_776_234_285 * S))
    assert line.time_ns == 1_776_234_284 * S + 160_366_013


def test_december_read_in_january_is_last_year():
    line = only(parse("W1231 23:59:59.0 1 x.py:1] x\n", seen_ns=1_767_225_600 * S + S))
    assert line.time_ns == 1_767_225_599 * S


@pytest.mark.parametrize(
    "text",
    [
        "2026-13-45 12:00:00 x",
        "2026-02-29 12:00:00 x",
        "2026-11-29 25:00:00 x",
        "E1345 12:00:00 1 x",
    ],
)
def test_a_date_that_does_not_exist_is_no_time(text):
    assert only(parse(text + "\n")).time_ns == SEEN_NS


def test_zoneless_stamps_follow_the_policy():
    from apps.logs.domain.reading.lines import ParsePolicy

    line = only(parse("2026-11-29 14:00:00 x\n", ParsePolicy(zone_offset_s=7200)))
    assert line.time_ns == NOON


def test_a_line_without_stamp_takes_the_time_of_the_line_before():
    parsed = parse("2026-11-29 12:00:00 a\n  File x\n2026-11-29 12:00:05 b\nc\n")
    assert parsed.lines.time_ns == [NOON, NOON, NOON + 5 * S, NOON + 5 * S]


def test_the_first_line_without_stamp_takes_the_agents_clock():
    assert only(parse("x\n", previous_ns=SEEN_NS - 60 * S)).time_ns == SEEN_NS


def test_a_file_read_long_after_it_was_written_goes_on_from_its_last_line():
    assert only(parse("x\n", previous_ns=NOON)).time_ns == NOON


def test_a_replay_shifts_every_time():
    parsed = parse("x\n2026-11-29 12:00:00 [INFO] [rank1] step 3 loss=1.5\n", time_shift_ns=10 * S)
    assert parsed.lines.time_ns == [SEEN_NS + 10 * S, NOON + 10 * S]
    assert parsed.metrics[0].time_ns == NOON + 10 * S
