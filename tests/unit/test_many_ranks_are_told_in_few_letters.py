import json

from apps.dashboard.flight import Cell, Host, Matrix


def cell(rank, tone="", *, silent=False, absent=False, suspect=False):
    return Cell(rank, tone, silent, absent, suspect, "")


def packed(*hosts):
    return json.loads(Matrix(hosts=hosts).packed)


def test_ranks_in_a_row_need_only_the_first():
    host = Host("gpu-1", [cell(8), cell(9, "error"), cell(10, "warn"), cell(11, silent=True)])
    assert packed(host) == [["gpu-1", 8, ".ews"]]


def test_ranks_that_are_apart_are_named_one_by_one():
    host = Host("unknown host", [cell(3, absent=True), cell(7, absent=True)])
    assert packed(host) == [["unknown host", [3, 7], "xx"]]


def test_a_rank_that_was_loud_and_fell_silent_is_both():
    host = Host("gpu-1", [cell(0, "error", silent=True), cell(1, "warn", silent=True)])
    assert packed(host) == [["gpu-1", 0, "dq"]]


def test_a_suspect_has_a_capital_letter_whatever_it_said():
    host = Host("gpu-2", [cell(0, suspect=True), cell(1, "error", suspect=True)])
    assert packed(host) == [["gpu-2", 0, "OE"]]


def test_a_page_of_the_largest_job_stays_small():
    hosts = [Host(f"gpu-{n:04d}", [cell(8 * n + g) for g in range(8)]) for n in range(2_048)]
    assert len(Matrix(hosts=hosts, total=16_384).packed) < 16_384 * 4
