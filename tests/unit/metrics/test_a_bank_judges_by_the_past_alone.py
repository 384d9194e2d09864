"""metrics.domain.bank: a verdict depends on the series up to there, and on nothing else."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.core.errors import AppError
from apps.metrics.domain import bank, bank_judge, bank_state
from apps.metrics.domain.bank import Demand, Rows
from tests.bank_samples import POLICY, healthy, rows_of

DEMANDS = [Demand(), Demand(excess=0.05, far_need=4), Demand(limit=4.0), Demand(excess=0.3)]


@st.composite
def stories(draw):
    """Four series with single rows, stretches and whole ends moved, and with absent cells."""
    values = healthy(420, seed=draw(st.integers(0, 5)))
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, 419))
        length = draw(st.sampled_from([1, 3, 14, 40, 420]))
        factor = draw(st.sampled_from([0.0, 0.5, 1.3, 4.0, 1e6, np.nan, np.inf, -1.0]))
        with np.errstate(invalid="ignore"):
            values[start : start + length, draw(st.integers(0, 3))] *= factor
    present = np.ones(values.shape, dtype=bool)
    present[draw(st.sampled_from([slice(0, 0), slice(100, 150), slice(1, None, 2)])), 1] = False
    present[draw(st.sampled_from([slice(0, 0), slice(0, 60)])), 2] = False
    return rows_of(values, present=present)


def new():
    return bank.of(DEMANDS)


def same(one, other):
    return bank_state.dump(one) == bank_state.dump(other)


@settings(max_examples=20)
@given(stories(), st.lists(st.integers(0, 420), max_size=6))
def test_cutting_the_rows_and_storing_the_state_in_between_changes_nothing(rows, cuts):
    whole, pieces, found = new(), new(), []
    edges = [0, *sorted(cuts), 420]
    for start, end in pairwise(edges):
        found += bank.feed(pieces, rows.part(start, end), POLICY)
        pieces = bank_state.load(bank_state.dump(pieces))

    assert repr(found) == repr(bank.feed(whole, rows, POLICY))
    assert same(whole, pieces)


@settings(max_examples=20)
@given(stories(), st.booleans())
def test_rows_without_an_event_are_learned_together_as_they_would_be_one_by_one(rows, limited):
    demands = DEMANDS if limited else [Demand(), Demand(excess=0.05, far_need=4), *[Demand()] * 2]
    together, apart = bank.of(demands), bank.of(demands)
    found = bank.feed(together, rows, POLICY)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bank_judge.Judge, "pass_over", lambda *_: 0)
        assert repr(found) == repr(bank.feed(apart, rows, POLICY))
    assert same(together, apart)


@settings(max_examples=12)
@given(stories(), st.integers(0, 420))
def test_later_rows_never_change_what_was_said(rows, end):
    early = bank.feed(new(), rows.part(0, end), POLICY)
    all_of_it = bank.feed(new(), rows, POLICY)
    assert repr(early) == repr([e for e in all_of_it if e.step < end])


@settings(max_examples=12)
@given(stories(), st.permutations(range(4)))
def test_a_series_does_not_know_of_the_others(rows, order):
    turned = Rows(rows.step, rows.time_ns, rows.values[:, order], rows.present[:, order])
    together = bank.feed(new(), rows, POLICY)
    apart = bank.feed(bank.of([DEMANDS[n] for n in order]), turned, POLICY)
    told = sorted((e.column, e.step, e.what, e.since_step) for e in together)
    assert told == sorted((order[e.column], e.step, e.what, e.since_step) for e in apart)


def test_rows_that_were_judged_are_passed_over():
    values = healthy(420)
    values[350:] *= 3
    rows, state = rows_of(values, present=np.ones(values.shape, dtype=bool)), new()
    bank.feed(state, rows, POLICY)
    before = bank_state.dump(state)
    assert bank.feed(state, rows.part(100, 420), POLICY) == []
    assert bank_state.dump(state) == before


def test_a_state_has_a_bounded_size():
    state = bank.of([Demand()] * 50)
    bank.feed(state, rows_of(healthy(200, 50)), POLICY)
    few = len(bank_state.dump(state))
    bank.feed(state, rows_of(healthy(2_000, 50, seed=1)), POLICY)
    assert len(bank_state.dump(state)) < 1.1 * few < 50 * 500


@pytest.mark.parametrize(
    "odd", [b"", b"\x93\x01\x02", b"\x93\x07\x00\xc4\x00", b"\x93\x01\x05\xc4\x00"]
)
def test_foreign_bytes_are_refused(odd):
    with pytest.raises(AppError):
        bank_state.load(odd)


def test_a_state_cut_short_is_refused():
    data = bank_state.dump(bank.of([Demand()] * 3))
    with pytest.raises(AppError):
        bank_state.load(data[:-4])
