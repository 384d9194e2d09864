"""Times to load a checkpoint: direct, or read once and exchanged.

The table is that of the published planner of the design (2026-08): 3.5 TB, 2 GB/s a host,
25 GB/s between hosts.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.checkpoints.domain.restore import Cluster, Restored, measured_s, ways

SIZE = 3_500_000_000_000
GB = 1e9


@pytest.mark.parametrize(
    ("hosts", "copies", "store_gb_s", "direct_s", "read_tb", "exchange_s"),
    [
        (128, 8, 100, 280, 28, 43),
        (128, 1, 100, 35, 3.5, 35),
        (128, 8, 40, 700, 28, 95),
        (4, 1, 100, 438, 3.5, 438),
        (4, 4, 100, 1_750, 14, 542),
        (2_048, 64, 1_000, 224, 224, 8),
    ],
)
def test_the_published_table_is_met(hosts, copies, store_gb_s, direct_s, read_tb, exchange_s):
    cluster = Cluster(hosts, 2 * GB, store_gb_s * GB, 25 * GB)
    direct, exchanged = ways(SIZE, copies, cluster)
    assert (round(direct.seconds), direct.read_bytes / 1e12) == (direct_s, read_tb)
    assert (round(exchanged.seconds), exchanged.read_bytes) == (exchange_s, SIZE)


def test_a_few_hosts_are_the_narrow_place_of_fine_tuning():
    direct, _ = ways(SIZE, 1, Cluster(4, 2 * GB, 100 * GB, 25 * GB))
    assert direct.bound_by == "the hosts"
    assert ways(SIZE, 8, Cluster(128, 2 * GB, 100 * GB, 25 * GB))[0].bound_by == "the store"


rates = st.floats(1e6, 1e13)


@given(st.integers(0, 10**15), st.integers(1, 4_096), st.integers(1, 64), rates, rates, rates)
def test_more_hosts_never_make_it_slower(size, hosts, copies, host, store, network):
    few = ways(size, copies, Cluster(hosts, host, store, network))
    more = ways(size, copies, Cluster(hosts + 1, host, store, network))
    assert all(b.seconds <= a.seconds for a, b in zip(few, more, strict=True))


def test_seen_restores_are_scaled_to_the_bytes_of_a_host():
    seen = [Restored(999, 10, 1), *(Restored(s, 1_000, 10) for s in (90, 100, 110))]
    assert measured_s(seen, 2_000, 10) == 200
    assert measured_s(seen, 1_000, 5) == 200


def test_what_was_never_seen_is_not_guessed():
    assert measured_s([], 1_000, 10) is None
    assert measured_s([Restored(5, 0, 10)], 1_000, 10) is None


def test_rates_of_zero_are_refused():
    with pytest.raises(ValueError, match="rates above 0"):
        Cluster(4, 0.0, 1.0, 1.0)
