"""nodes.domain.links."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.nodes.domain.links import judge

USUAL = 390.0


def matrix_of(n, seed=0, noise=0.015):
    """Bandwidths between n equal hosts, in both directions."""
    values = USUAL * (1 + noise * np.random.default_rng(seed).standard_normal((n, n)))
    np.fill_diagonal(values, np.nan)
    return values


def names(n):
    return [f"gpu-{at:03}" for at in range(n)]


def slow_host(values, at, ratio):
    values[at] = np.minimum(values[at], USUAL * ratio)
    values[:, at] = np.minimum(values[:, at], USUAL * ratio)


def found(values):
    verdict = judge(names(len(values)), values)
    hosts = [one.host for one in verdict.slow_hosts]
    return hosts, [(one.a, one.b) for one in verdict.slow_links]


@given(n=st.integers(5, 64), seed=st.integers(0, 9_999), at=st.integers(0, 63),
       ratio=st.floats(0.1, 0.75))  # fmt: skip
@settings(deadline=None)
def test_a_planted_slow_host_is_found_and_nothing_else(n, seed, at, ratio):
    values = matrix_of(n, seed)
    slow_host(values, at % n, ratio)
    assert found(values) == ([names(n)[at % n]], [])


@given(n=st.integers(5, 64), seed=st.integers(0, 9_999), ratio=st.floats(0.0, 0.6),
       data=st.data())  # fmt: skip
@settings(deadline=None)
def test_a_planted_slow_link_is_found_and_nothing_else(n, seed, ratio, data):
    values = matrix_of(n, seed)
    a, b = sorted(data.draw(st.permutations(range(n)))[:2])
    values[a, b] *= ratio
    values[b, a] *= ratio
    assert found(values) == ([], [(names(n)[a], names(n)[b])])


@given(n=st.integers(2, 64), seed=st.integers(0, 9_999), noise=st.floats(0, 0.03))
@settings(deadline=None)
def test_equal_hosts_are_left_alone(n, seed, noise):
    assert judge(names(n), matrix_of(n, seed, noise)).quiet


@given(seed=st.integers(0, 9_999), scale=st.sampled_from([1e-3, 1.0, 8.0]))
def test_the_unit_does_not_matter(seed, scale):
    values = matrix_of(12, seed)
    slow_host(values, 4, 0.6)
    values[7, 9] *= 0.4
    assert found(values * scale) == (["gpu-004"], [("gpu-007", "gpu-009")])


def test_a_slow_host_excuses_its_links_but_not_those_of_others():
    values = matrix_of(16)
    slow_host(values, 3, 0.6)
    slow_host(values, 5, 0.5)
    values[8, 9] *= 0.3
    verdict = judge(names(16), values)

    assert [one.host for one in verdict.slow_hosts] == ["gpu-005", "gpu-003"]
    (link,) = verdict.slow_links
    assert (link.a, link.b, link.both) == ("gpu-008", "gpu-009", False)
    assert verdict.sentences[0].startswith("gpu-005 is slow: 195 Gbit/s with 15 hosts, 50 % of")
    assert verdict.sentences[-1].startswith("the link from gpu-008 to gpu-009 is slow")


def test_a_ring_finds_its_slow_host():
    """Two tests of each host."""
    values = np.full((8, 8), np.nan)
    for at in range(8):
        values[at, (at + 1) % 8] = USUAL
    values[3, 4] = values[2, 3] = 0.5 * USUAL
    assert found(values) == (["gpu-003"], [])


def test_a_single_slow_pair_of_two_hosts_accuses_neither_for_sure():
    values = np.full((8, 8), np.nan)
    for at in (0, 2, 4, 6):
        values[at, at + 1] = USUAL
    values[4, 5] = 0.3 * USUAL
    (link,) = judge(names(8), values).slow_links
    assert (link.a, link.b, link.sure) == ("gpu-004", "gpu-005", False)


def test_a_host_that_no_test_reaches():
    values = matrix_of(8)
    values[2] = values[:, 2] = 0.0
    values[2, 2] = np.nan
    assert judge(names(8), values).sentences == [
        "gpu-002 reaches nobody: the tests with 7 hosts failed"
    ]


def test_a_host_that_is_slow_by_itself():
    values = np.diag([2_400.0, 2_390.0, 1_200.0, 2_410.0])
    values[values == 0] = np.nan
    verdict = judge(names(4), values)
    assert [one.host for one in verdict.inside] == ["gpu-002"]
    assert verdict.sentences == [
        "inside gpu-002 its GPUs reach 1200 Gbit/s, 50 % of what they reach inside the other hosts"
    ]


@pytest.mark.parametrize("n", [0, 1])
def test_nothing_measured_is_no_verdict(n):
    verdict = judge(names(n), np.full((n, n), np.nan))
    assert (verdict.quiet, verdict.pairs) == (True, 0)
