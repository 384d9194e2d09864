"""apps.checkpoints.storage.pace."""

from hypothesis import given
from hypothesis import strategies as st

from apps.checkpoints.storage.pace import Pace


class Clock:
    """Time passes only while somebody sleeps."""

    def __init__(self):
        self.now = 0.0

    def sleep(self, seconds):
        self.now += seconds


@given(st.lists(st.integers(1, 5_000), min_size=1, max_size=50))
def test_no_more_than_the_rate_and_one_second_ahead(reads):
    clock = Clock()
    pace = Pace(1_000, lambda: clock.now, clock.sleep)
    for count in reads:
        pace.spend(count)
    assert sum(reads) <= 1_000 * (clock.now + 1) + 1e-6


def test_a_pause_saves_up_one_second_only():
    clock = Clock()
    pace = Pace(1_000, lambda: clock.now, clock.sleep)
    clock.now = 3_600.0
    pace.spend(3_000)
    assert clock.now == 3_602.0


def test_zero_is_no_limit():
    clock = Clock()
    Pace(0, lambda: clock.now, clock.sleep).spend(10**12)
    assert clock.now == 0.0
