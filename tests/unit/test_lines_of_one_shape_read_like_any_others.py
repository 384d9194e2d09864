"""ingest.wandb.uniform: a body whose lines are alike is read at once, with the same result."""

import json
import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from apps.ingest.wandb.lines import history_rows
from apps.ingest.wandb.uniform import uniform_rows
from apps.ingest.wandb.values import Names, Numbers

NOW_NS = 1_795_981_200_000_000_000
PLAIN = {"_step": 1, "_timestamp": 1_795_981_100.25, "_runtime": 3.5, "loss": 2.0}
NAMES = st.sampled_from(["loss", "a/b", "", "_wandb", "_runtime", "é", "nul\0", "lone\ud800", "x"])
USUAL = st.one_of(st.floats(), st.integers(-9, 9))
ODD = st.one_of(st.integers(), st.booleans(), st.none(), st.text(max_size=3), st.just({"y": 1.0}))
STEPS = st.one_of(st.integers(0, 2**63), st.just(4.0), st.just(-1), st.just(0.5))
TIMES = st.one_of(
    st.floats(0, 1e10), st.floats(2**23 - 1, 2**23 + 1), st.integers(-1, 10**10), st.just(1e-10)
)


@st.composite
def bodies(draw):
    """Lines that have the same names nearly always."""
    names = draw(st.lists(NAMES, unique=True, max_size=5))
    values = draw(st.sampled_from([USUAL, st.one_of(USUAL, ODD)]))
    lines = []
    for _ in range(draw(st.integers(1, 4))):
        line = {"_step": draw(STEPS), "_timestamp": draw(TIMES)}
        line |= {name: draw(values) for name in draw(st.permutations(names))}
        lines.append(line)
    return lines


def read(lines):
    """Rows as text, NaN included, and what was skipped."""
    numbers = Numbers()
    rows = history_rows([json.dumps(line) for line in lines], NOW_NS, numbers)
    found = [(row.step, row.time_ns, sorted(row.values.items()), row.extra) for row in rows]
    return repr(found), +numbers.skipped


@given(bodies())
@example([PLAIN, {**PLAIN, "loss": float("nan")}])
@example([PLAIN, {**PLAIN, "loss": 2**53 + 1}])
@example([PLAIN, {**PLAIN, "loss": True}])
def test_lines_are_read_as_they_are_beside_an_odd_one(lines):
    rows, skipped = read(lines)
    beside, also_skipped = read([*lines, {}])
    also_skipped["row without a step"] -= 1
    assert (rows, skipped) == (beside, +also_skipped)


def uniform(*lines):
    return uniform_rows([json.dumps(line) for line in lines], Names())


def test_the_usual_body_is_one_grid():
    rows = uniform(PLAIN, {**PLAIN, "_step": 2, "loss": 3})
    assert [(row.step, row.values, row.extra) for row in rows] == [
        (1, {"loss": 2.0}, {"r": 3.5}),
        (2, {"loss": 3.0}, {"r": 3.5}),
    ]


def test_so_is_one_with_bare_nan_and_infinities():
    rows = uniform(PLAIN, {**PLAIN, "loss": math.nan}, {**PLAIN, "loss": -math.inf})
    assert repr(rows.values.tolist()) == "[[2.0], [nan], [-inf]]"


@pytest.mark.parametrize(
    "odd", [{"loss": None}, {"loss": "NaN"}, {"more": 1.0}, {"_step": -1}, {"_timestamp": 5.0}]
)
def test_a_line_of_another_shape_leaves_the_body_to_the_usual_way(odd):
    assert uniform(PLAIN, {**PLAIN, **odd}) is None


@pytest.mark.parametrize("odd", ["[1,2,3,4]", "null", "7", '"text"', "{"])
def test_so_does_a_line_that_is_no_object(odd):
    assert uniform_rows([json.dumps(PLAIN), odd], Names()) is None
