"""Hostlists of Slurm."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.ingest.slurm.hostlist import MAX_HOSTS, expand


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("gpu-a01", ["gpu-a01"]),
        ("gpu[001-003,7],login1", ["gpu001", "gpu002", "gpu003", "gpu7", "login1"]),
        ("r[1-2]n[09-10].site", ["r1n09.site", "r1n10.site", "r2n09.site", "r2n10.site"]),
        ("", []),
        ("gpu[3-1]", []),
        ("None assigned", ["None", "assigned"]),
    ],
)
def test_ranges_keep_their_zeros(text, hosts):
    assert list(expand(text)) == hosts


def test_a_range_without_end_costs_no_more_than_the_most_hosts():
    assert len(expand("n[0-999999999]r[0-999999999]")) == MAX_HOSTS


@pytest.mark.parametrize("text", [f"n{'[1]' * 5_000}", "n[0-999999999][-]", "n[-][0-999999999]"])
def test_brackets_that_make_no_host_cost_nothing(text):
    assert expand(f"{text}," * 1_000 + "login1") == ("login1",)


@given(st.lists(st.integers(0, 9_999), min_size=1, max_size=40, unique=True))
def test_what_is_folded_is_spelled_out_again(numbers):
    names = [f"gpu{number:04d}" for number in numbers]
    assert list(expand(f"gpu[{','.join(f'{number:04d}' for number in numbers)}]")) == names


@given(st.text(alphabet="ab[]0123,- \n", max_size=60))
def test_no_text_breaks_it(text):
    assert len(expand(text)) <= MAX_HOSTS
