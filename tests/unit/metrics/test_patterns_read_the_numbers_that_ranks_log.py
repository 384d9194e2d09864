"""metrics.domain.signal_patterns."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.core.errors import AppError
from apps.metrics.domain.signal_patterns import MAX_PATTERNS, parse, rules_of


@pytest.mark.parametrize(
    ("pattern", "line", "step", "values"),
    [
        ("iter {step} | fwd {fwd_ms} ms", "[3] iter 40 | fwd 12.5 ms | x", 40,
         {"rank/fwd_ms": 12.5}),
        ("loss={local_loss}", "step 7 loss=-1.5e-3,", None, {"rank/local_loss": -1.5e-3}),
        ("t={any} a={a:signal} b={number} c={c}", "t=12:30 a=1 b=2 c=3", None,
         {"rank/a": 1.0, "rank/c": 3.0}),
        ("grad {g}", "grad inf", None, {"rank/g": math.inf}),
    ],
)  # fmt: skip
def test_a_pattern_reads_its_numbers_anywhere_in_a_line(pattern, line, step, values):
    assert parse(pattern).read(line) == (step, values)


def test_no_number_is_a_value_and_another_line_says_nothing():
    told = parse("loss={loss}").read("loss=nan")
    assert told is not None and math.isnan(told[1]["rank/loss"])
    assert parse("loss={loss}").read("loss: 3") is None
    assert parse("loss={loss} end").read("loss=3 middle") is None


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("", "1 to 200"), ("x" * 201, "1 to 200"), ("loss", "at least one number"),
        ("{loss}", "where the numbers stand"), ("a={a}{b}", "where the numbers stand"),
        ("a={a} b={a}", "twice"), ("a={A}", "no hole"), ("a={a:fast}", "no way to compare"),
        ("a={a", "brace"), ("a=}", "brace"), ("a={step} b={step} c={c}", "twice"),
        ("a={any}.{any} b={b}", "at most"), ("a={step:loss} c={c}", "no hole"),
    ],
)  # fmt: skip
def test_a_pattern_that_cannot_be_read_is_refused_in_words(pattern, why):
    with pytest.raises(AppError, match=why):
        parse(pattern)


def test_rules_name_the_pattern_at_fault_and_are_bounded():
    with pytest.raises(AppError) as refused:
        rules_of(["a={a}", "b"])
    assert refused.value.where == "pattern 2"
    with pytest.raises(AppError, match="at most"):
        rules_of(["a={a}"] * (MAX_PATTERNS + 1))


def test_the_first_pattern_that_says_how_to_compare_counts():
    rules = rules_of(["a={a:signal} b={b}", "A={a:compute}"])
    assert rules.meanings == {"rank/a": "signal"}


@given(st.text(max_size=300), st.floats(allow_nan=False, allow_infinity=False, width=32))
@settings(deadline=None)
def test_what_was_written_is_read_back_whatever_stands_before_it(before, value):
    told = parse("#loss={loss}#").read(f"{before.replace('#', '')}#loss={value:.6e}#")
    assert told is not None
    assert told[1]["rank/loss"] == pytest.approx(value, rel=1e-5)


def test_a_hostile_line_costs_little():
    """Its beginning stands there two thousand times, and any text may follow each."""
    pattern = parse("a={any} x={x}")
    assert pattern.read("a=" * 50_000 + " x=") is None
