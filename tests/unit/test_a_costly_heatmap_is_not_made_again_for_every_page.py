"""dashboard.heatmap: a grid is kept for ten times what it took."""

import pytest

from apps.dashboard import heatmap
from apps.metrics.records import LayerGrid, LayerQuery

ASKED = LayerQuery(1, 0, "grad_norm")


def grid(rows, edges):
    names, cells = [f"layer {n}" for n in range(rows)], [[0.0] * (edges - 1)] * rows
    return LayerGrid(names, list(range(edges)), cells, cells, names, [[name] for name in names])


class Clock:
    """A clock that making a grid moves by `cost`."""

    def __init__(self, cost):
        self.now, self.cost, self.made = 100.0, cost, 0
        self.grid = grid(0, 0)

    def monotonic(self):
        return self.now

    def make(self, query):
        self.now += self.cost
        self.made += 1
        return self.grid


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


def test_what_is_kept_is_bounded_by_its_cells(clock, monkeypatch):
    monkeypatch.setattr(heatmap, "MAX_KEPT_CELLS", 50)
    clock.grid = grid(rows=4, edges=5)
    for attempt in range(30):
        heatmap._kept_grid(LayerQuery(1, attempt), 5)
        assert sum(heatmap._cells(kept) for _, kept in heatmap._kept.values()) <= 50


def test_what_is_too_old_is_forgotten(clock):
    heatmap._kept_grid(ASKED, 5)
    clock.now += 16.0
    heatmap._kept_grid(LayerQuery(2, 0), 5)
    assert [query.run_id for query, _ in heatmap._kept] == [2]


def test_of_what_is_kept_only_what_is_drawn_takes_memory(clock):
    clock.grid = grid(rows=2, edges=3)
    found = heatmap._kept_grid(ASKED, 5)
    assert (found.value, len(found.z)) == ([], 2)
