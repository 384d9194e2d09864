"""checkpoints.domain.storageroom."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.checkpoints.domain.storageroom import Rhythm, Room, forecast, used_per_s

T0 = 1_800_000_000_000_000_000
S = 1_000_000_000
GB = 10**9
SAVES = Rhythm(need_bytes=100 * GB, due_s=1_800, every_s=3_600, save_s=60)


def rooms(*free_gb, every_s=300):
    return [Room(T0 + n * every_s * S, int(gb * GB)) for n, gb in enumerate(free_gb)]


def told(found, saves=SAVES):
    return forecast(found, saves, found[-1].at_ns + S)


def test_a_steady_storage_fits_every_save():
    seen = told(rooms(500, 500, 500, 500))
    assert (seen.fitting, seen.at_save_bytes, seen.used_bytes_s) == (None, 500 * GB, 0)


def test_a_storage_that_is_full_now_fits_none():
    seen = told(rooms(50, 50, 50))
    assert (seen.fitting, seen.at_save_bytes) == (0, 50 * GB)


def test_what_others_write_until_the_next_save_counts():
    """10 GB each 5 minutes: 60 GB until the save in 30 minutes, 120 GB an hour after that."""
    assert told(rooms(200, 190, 180, 170, 160)).fitting == 1
    assert told(rooms(600, 590, 580, 570, 560)).fitting == 4
    assert told(rooms(190, 180, 170, 160, 150)).fitting == 0


def test_the_dip_of_a_save_that_is_being_written_is_no_lack_of_room():
    """Full but for one checkpoint: the old one is deleted once the new one is whole."""
    assert told(rooms(150, 150, 150, 150, 30)).fitting is None


def test_one_big_file_that_comes_and_goes_moves_no_forecast():
    assert told(rooms(500, 500, 480, 500, 500, 500)).used_bytes_s == 0


@pytest.mark.parametrize("late_s", [3_601, 86_400])
def test_an_old_reading_says_nothing(late_s):
    found = rooms(50, 50, 50)
    assert forecast(found, SAVES, found[-1].at_ns + late_s * S) is None
    assert forecast([], SAVES, T0) is None


_free = st.lists(st.integers(0, 10**15), min_size=1, max_size=30)


@given(_free, st.integers(0, 10**14))
def test_more_room_never_fits_fewer_saves(free, more):
    def fitting(extra):
        found = [Room(T0 + n * 300 * S, f + extra) for n, f in enumerate(free)]
        seen = told(found).fitting
        return float("inf") if seen is None else seen

    assert fitting(more) >= fitting(0)


@given(_free, st.integers(-(10**10), 10**10))
def test_the_slope_is_never_negative_and_shifts_change_nothing(free, shift):
    found = [Room(T0 + n * 300 * S, f) for n, f in enumerate(free)]
    moved = [Room(r.at_ns, r.free_bytes + shift) for r in found]
    assert used_per_s(found) == pytest.approx(used_per_s(moved)) and used_per_s(found) >= 0
