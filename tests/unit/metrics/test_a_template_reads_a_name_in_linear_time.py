"""metrics.domain.templates."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.errors import AppError
from apps.metrics.domain.templates import HOLES, MAX_CHARS, parse
from tests.costs import cost_s

WORD = st.text("abcxyz_", min_size=1, max_size=8)
SAMPLES = {"statistic": WORD, "layer": st.integers(0, 99_999).map(str),
           "module": st.lists(WORD, min_size=1, max_size=4).map(".".join)}  # fmt: skip


@pytest.mark.parametrize(
    ("pattern", "name", "found"),
    [
        ("{statistic}/layers.{layer}.{module}", "grad_norm/layers.12.mlp.up",
         {"statistic": "grad_norm", "layer": "12", "module": "mlp.up"}),
        ("{module}/{statistic}", "a/b.3/rms", {"module": "a/b.3", "statistic": "rms"}),
        ("{any}layer{layer}", "layer_norm/layer3", {"layer": "3"}),
        ("{any}/x/{any}/{layer}", "a/x/b/x/4", {"layer": "4"}),
        ("grad_{number}_norm/{module}", "grad_2.0_norm/w", {"module": "w"}),
        ("{layer}", "123456", None),
        ("a/{module}", "a/", None),
        ("x{layer}y", "x1z", None),
        ("a.b", "axb", None),
    ],
)  # fmt: skip
def test_holes_take_what_stands_there(pattern, name, found):
    assert parse(pattern).match(name) == found


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("", "1 to 200"),
        ("x" * (MAX_CHARS + 1), "1 to 200"),
        ("{rank}/x", "no hole"),
        ("{layer}{module}", "touch"),
        ("{layer}/{layer}", "twice"),
        ("{layer", "brace"),
        ("a}b", "brace"),
        ("/".join(["{any}"] * 7), "at most"),
    ],
)
def test_a_bad_pattern_is_refused_with_the_reason(pattern, why):
    with pytest.raises(AppError, match=why):
        parse(pattern)


@given(st.text(max_size=300))
def test_any_text_is_a_pattern_or_refused(text):
    try:
        found = parse(text)
    except AppError:
        return
    found.match(text)


@given(st.text(max_size=600))
def test_a_pattern_without_holes_reads_itself_only(name):
    assert parse("a.b+c").match(name) == ({} if name == "a.b+c" else None)


@given(st.permutations(sorted(SAMPLES)), st.data())
def test_what_is_put_into_the_holes_comes_out_again(order, data):
    values = {hole: data.draw(SAMPLES[hole], label=hole) for hole in order}
    pattern = "head/" + "/".join(f"{{{hole}}}" for hole in order) + "/tail"
    assert parse(pattern).match(pattern.format(**values)) == values


@pytest.mark.parametrize("piece", ["a", "a_", "ab", "_aab1", "a/", "1", "b1c"])
def test_a_hundred_times_the_name_costs_about_a_hundred_times_as_much(piece):
    template = parse("{any}a{any}a{any}a{module}_{statistic}b{layer}c")

    def cost(times):
        return cost_s(lambda: template.match(piece * times))

    assert cost(20_000) < 1_000 * cost(200) + 0.002


def test_each_hole_is_explained():
    assert all(HOLES.values())
