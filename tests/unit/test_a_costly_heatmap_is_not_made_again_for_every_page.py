"""dashboard.heatmap: a grid is kept for ten times what it took."""

import pytest

from apps.dashboard import heatmap
from apps.metrics.records import LayerGrid, LayerQuery

ASKED = LayerQuery(1, 0, "grad_norm")


class Clock:
    """A clock that making a grid moves by `cost`."""

    def __init__(self, cost):
        self.now, self.cost, self.made = 100.0, cost, 0

    def monotonic(self):
        return self.now

    def make(self, query):
        self.now += self.cost
        self.made += 1
        return LayerGrid([], [], [], [], [], [])


@pytest.fixture
def clock(monkeypatch):
    found = Clock(cost=1.5)
    monkeypatch.setattr(heatmap, "time", found)
    monkeypatch.setattr(heatmap.layer_maps, "layer_grid", found.make)
    monkeypatch.setattr(heatmap, "_kept", {})
    return found


def test_it_is_shown_again_for_ten_times_its_cost(clock):
    heatmap._kept_grid(ASKED, 5)
    clock.now += 14.0
    heatmap._kept_grid(ASKED, 5)
    assert clock.made == 1
    clock.now += 2.0
    heatmap._kept_grid(ASKED, 5)
    assert clock.made == 2


def test_another_question_and_another_number_of_names_are_answered_anew(clock):
    heatmap._kept_grid(ASKED, 5)
    heatmap._kept_grid(ASKED, 6)
    heatmap._kept_grid(LayerQuery(1, 0, "update_ratio"), 5)
    assert clock.made == 3


def test_what_is_kept_is_bounded(clock):
    for attempt in range(3 * heatmap.MAX_KEPT):
        heatmap._kept_grid(LayerQuery(1, attempt), 5)
    assert len(heatmap._kept) <= heatmap.MAX_KEPT
