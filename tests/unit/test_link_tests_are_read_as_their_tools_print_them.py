"""nodes.domain.linktext."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.core.errors import BadPayload
from apps.nodes.domain.linktext import read
from tests.link_samples import nccl_json, nccl_text, perftest


def pairs_of(text, pair=None):
    """(from, to) -> Gbit/s."""
    table = read(text.encode(), pair)
    there = np.argwhere(np.isfinite(table.matrix)).tolist()
    return {(table.hosts[a], table.hosts[b]): float(table.matrix[a, b]) for a, b in there}


@pytest.mark.parametrize("stamp", ["", "  2026-11-30 12:00:00"])
@pytest.mark.parametrize("old", [False, True])
def test_the_bus_bandwidth_of_the_largest_message_counts(old, stamp):
    text = nccl_text(["gpu-a", "gpu-b"], 48.0, old=old, stamp=stamp)
    assert pairs_of(text) == {("gpu-a", "gpu-b"): 384.0, ("gpu-b", "gpu-a"): 384.0}


def test_outputs_may_follow_each_other_in_one_file():
    text = nccl_text(["gpu-a", "gpu-b"], 48.0) + nccl_text(["gpu-a", "gpu-c"], 24.0)
    assert pairs_of(text)["gpu-c", "gpu-a"] == 192.0
    assert len(pairs_of(text)) == 4


def test_a_single_host_is_tested_inside():
    assert pairs_of(nccl_text(["gpu-a"], 300.0, gpus=8)) == {("gpu-a", "gpu-a"): 2400.0}


def test_a_test_of_many_hosts_names_no_link_and_is_counted():
    with pytest.raises(BadPayload, match="1 tests of more than two hosts"):
        read(nccl_text(["a", "b", "c"], 40.0).encode())
    table = read((nccl_text(["a", "b", "c"], 40.0) + nccl_text(["a", "b"], 40.0)).encode())
    assert table.left_out == {"tests of more than two hosts": 1}


def test_wrong_results_are_kept_apart_from_slow_ones():
    assert read(nccl_text(["a", "b"], 40.0, wrong=3).encode()).wrong == (("a", "b"),)
    assert read(nccl_text(["a", "b"], 40.0, old=True).encode()).wrong == ()


def test_reports_in_json_are_read_whole_as_a_list_or_by_line():
    one, two = nccl_json(["a", "b"], 48.0), nccl_json(["a", "c"], 24.0)
    assert pairs_of(one) == {("a", "b"): 384.0, ("b", "a"): 384.0}
    assert pairs_of(f"[{one},{two}]") == pairs_of(f"{one}\n{two}\n")
    assert pairs_of(f"[{one},{two}]")["a", "c"] == 192.0


@pytest.mark.parametrize(("unit", "average", "gbit_s"), [("Gb", 391.21, 391.21),
                                                         ("MB", 22_678.86, 190.245)])  # fmt: skip
def test_perftest_is_read_in_its_units(unit, average, gbit_s):
    text = perftest(("a", "b"), average, unit=unit)
    assert pairs_of(text) == {("a", "b"): pytest.approx(gbit_s, rel=1e-4)}


def test_the_average_counts_because_the_peak_is_zero_where_a_time_was_given():
    assert pairs_of(perftest(("a", "b"), 391.0, peak=0.0)) == {("a", "b"): 391.0}


def test_several_outputs_and_one_that_failed():
    text = perftest(("a", "b"), 391.0) + "# pair a c\nCouldn't connect to c:18515\n"
    assert pairs_of(text + perftest(("c", "b"), 390.0)) == {
        ("a", "b"): 391.0, ("a", "c"): 0.0, ("c", "b"): 390.0,
    }  # fmt: skip


def test_whoever_sends_one_output_says_between_whom():
    assert pairs_of(perftest(None, 391.0), ("a", "b")) == {("a", "b"): 391.0}
    with pytest.raises(BadPayload, match="name no host"):
        read(perftest(None, 391.0).encode())


def test_a_table_says_its_unit_in_its_head():
    assert pairs_of("from,to,gb_s\na,b,40\nb,a,failed\n") == {("a", "b"): 320.0, ("b", "a"): 0.0}


@pytest.mark.parametrize(
    ("text", "where"),
    [("", "line 1"), ("hello", "line 1"), ("a,b\nx,y", "line 1"),
     ("a,b,gbit_s\nx,y,fast", "line 2"),
     ("a,b,gbit_s\nx,,3", "line 2"), ('{"a"', "line 1"), ("a,b,gbit_s\nx,y,-3", "line 2")],
)  # fmt: skip
def test_what_is_no_test_is_refused_with_its_place(text, where):
    with pytest.raises(BadPayload) as refused:
        read(text.encode())
    assert refused.value.where == where


def test_hosts_stand_in_natural_order_and_are_bounded():
    text = "a,b,gbit_s\ngpu-10,gpu-2,1\ngpu-9,gpu-1,1\n"
    assert read(text.encode()).hosts == ("gpu-1", "gpu-2", "gpu-9", "gpu-10")
    many = "a,b,gbit_s\n" + "\n".join(f"h{at},g{at},1" for at in range(600))
    with pytest.raises(BadPayload, match="at most 1,024"):
        read(many.encode())


def test_a_line_of_blanks_does_not_cost_its_square():
    text = nccl_text(["a", "b"], 4.0)
    assert pairs_of(f"{text}\n{' ' * 300_000}x\n") == pairs_of(text)


@pytest.mark.parametrize(
    "text",
    [
        "x" * 200_000,
        nccl_json(["a", "b"], 4.0).replace('"a"', r'"a\u0000"').replace('"b"', r'"\ud800"'),
        "a,b,gbit_s\nx,y\x1b,3\n",
        "a,b,gbit_s\nx,y,1e300\n",
    ],
    ids=["a long cell", "names of half letters", "a control", "too fast"],
)
def test_what_no_tool_prints_is_refused(text):
    with pytest.raises(BadPayload):
        read(text.encode())


def test_a_number_too_large_for_a_bandwidth_is_none():
    text = nccl_json(["a", "b"], 4.0).replace('"bus_bw":4.0', f'"bus_bw":{"9" * 400}')
    assert pairs_of(text)["a", "b"] == pytest.approx(0.32)


def test_a_line_that_is_too_long_is_no_result():
    text = nccl_text(["a", "b"], 4.0)
    best = next(line for line in text.splitlines() if line.lstrip().startswith(str(1 << 33)))
    assert pairs_of(text.replace(best, best + " " * 2_000))["a", "b"] == pytest.approx(9.6)


def test_any_sign_that_counts_as_a_digit_may_be_a_name():
    assert read("a,b,gbit_s\n²,x²,1\n".encode()).hosts == ("x²", "²")


def test_pairs_with_wrong_data_are_listed_up_to_a_number_and_counted():
    text = "".join(nccl_text(["a", f"b{at}"], 4.0, wrong=3) for at in range(70))
    table = read(text.encode())
    assert len(table.wrong) == 64
    assert table.left_out == {"further pairs that got wrong data": 6}


@given(st.one_of(
    st.binary(max_size=300),
    st.builds(
        lambda at, text: (text * 1)[:at].encode() + b"\xff" + text[at:].encode(),
        st.integers(0, 900),
        st.sampled_from([nccl_text(["a", "b"], 4.0), nccl_json(["a", "b"], 4.0),
                         perftest(("a", "b"), 4.0), "a,b,gbit_s\nx,y,3\n"]),
    ),
))  # fmt: skip
@settings(deadline=None)
def test_garbage_is_refused_in_words_and_never_crashes(body):
    try:
        table = read(body)
    except BadPayload as refused:
        assert refused.message
    else:
        assert np.isfinite(table.matrix).any()
