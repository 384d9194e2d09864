"""ingest.label_rules"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.errors import AppError
from apps.ingest.label_rules import HOLES, MAX_VALUE_CHARS, OwnRule, checked, rules_of
from apps.ingest.labels import Table


def read(pattern, value, **others):
    table = Table(rules_of(checked([OwnRule("My.Label", pattern)])))
    return table.understand({"my_label": value, **others}).fields


@pytest.mark.parametrize(("pattern", "value", "told"), [
    ("{run}-worker-{rank}", "llm-worker-3", {"run": "llm", "rank": 3}),
    ("{run}-worker-{rank}", "a-worker-b-worker-12", {"run": "a-worker-b", "rank": 12}),
    ("{run}/{any}/{local_rank}", "llm/x/y/2", {"run": "llm", "local_rank": 2}),
    ("r{number}.{node}", "r7.gpu-a01", {"node": "gpu-a01"}),
    ("{rank}", "7 ", {}),
    ("{rank}", "1" * 10, {}),
    ("worker-{rank}", "prefix worker-3", {}),
    ("{source}.log", "x" * MAX_VALUE_CHARS + ".log", {}),
])  # fmt: skip
def test_the_whole_value_fits_or_nothing_is_told(pattern, value, told):
    assert read(pattern, value) == told


def test_it_comes_before_the_built_in_conventions():
    assert read("{rank}", "4", RANK="9") == {"rank": 4}


def test_what_it_leaves_open_is_told_by_the_conventions():
    assert read("{rank}x", "4", RANK="9", host="n") == {"rank": 9, "node": "n"}


def test_a_run_that_is_no_run_key_is_not_believed():
    assert read("{run}-{rank}", "a b-3") == {}


@given(
    st.lists(st.sampled_from(["a", "-", "."]) | st.sampled_from(list(HOLES)).map("{{{}}}".format)),
    st.text("a-.7", max_size=MAX_VALUE_CHARS),
)
def test_any_rule_is_refused_or_reads_any_value(parts, value):
    pattern = "".join(parts)
    try:
        told = read(pattern, value)
    except AppError:
        return
    assert set(told) <= set(HOLES)
