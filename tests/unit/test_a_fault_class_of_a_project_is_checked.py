"""logs.domain.triage.ownclasses: what may be a class."""

from dataclasses import asdict, replace

import pytest

from apps.logs.domain.triage.classify import taxonomy
from apps.logs.domain.triage.ownclasses import (
    MAX_CLASSES,
    BadFaultClass,
    checked,
    class_of,
)
from apps.logs.domain.triage.ownmatching import matcher_of
from apps.logs.domain.triage.owntaxonomy import can_be_off
from tests.own_classes import LANE, with_lane

BUILT_IN = can_be_off(taxonomy())


def test_a_class_is_kept_without_spaces_around_it():
    untidy = replace(LANE, title="  Lane lost ", patterns=(*LANE.patterns, " ", ""))
    ((kept,), off) = checked([untidy], ["xid_13", "cuda_oom", "xid_13"], BUILT_IN)
    assert (kept.title, kept.patterns) == ("Lane lost", LANE.patterns)
    assert off == ("cuda_oom", "xid_13")
    assert class_of(asdict(kept)) == kept


@pytest.mark.parametrize(
    ("changes", "where", "message"),
    [
        ({"key": "Lane lost"}, "key", "is no key"),
        ({"key": "cuda_oom"}, "key", "by a built-in class"),
        ({"title": " "}, "title", "is empty"),
        ({"title": "x" * 121}, "title", "has 121 characters"),
        ({"action": "x" * 501}, "action", "has 501 characters"),
        ({"role": "culprit"}, "role", "'culprit' is no role"),
        ({"layer": "moon"}, "layer", "'moon' is no layer"),
        ({"blame": "them"}, "blame", "'them' is no blame"),
        ({"severity": "info"}, "severity", "'info' is no severity"),
        ({"patterns": ()}, "class lane_lost", "0 patterns"),
        ({"patterns": ("abc",) * 9}, "class lane_lost", "9 patterns"),
        ({"patterns": ("abc", "(")}, "pattern 2", "cannot be read"),
        ({"patterns": ("abc(?=d)",)}, "pattern 1", "cannot be read"),
        ({"patterns": ("x" * 501,)}, "pattern 1", "longer than 500"),
        ({"patterns": ("a\nbcd",)}, "pattern 1", "line break"),
        ({"patterns": (r"\d+",)}, "pattern 1", "no plain text"),
        ({"patterns": ("abc|x",)}, "pattern 1", "no plain text"),
        ({"patterns": ("step(.{0,30}){30}x",)}, "pattern 1", "too large"),
        ({"patterns": (r"(?i)step \pL{900}x",)}, "pattern 1", "too large"),
    ],
)
def test_a_class_that_cannot_be_used_says_why(changes, where, message):
    with pytest.raises(BadFaultClass) as caught:
        checked([replace(LANE, **changes)], (), BUILT_IN)
    assert where in caught.value.where
    assert message in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize(
    ("off", "message"),
    [
        ("nothing", "is no built-in class"),
        ("py_exception", "cannot be switched off"),
        ("hang_no_error", "cannot be switched off"),
    ],
)
def test_the_rule_keeps_the_classes_it_needs(off, message):
    with pytest.raises(BadFaultClass, match=message):
        checked([], [off], BUILT_IN)


def test_a_key_is_used_once_and_there_is_a_limit():
    with pytest.raises(BadFaultClass, match="used twice"):
        checked([LANE, LANE], (), BUILT_IN)
    with pytest.raises(BadFaultClass, match="more than 100"):
        checked([LANE] * (MAX_CLASSES + 1), (), BUILT_IN)


def test_a_class_that_cannot_be_compiled_any_more_holds_up_nobody(caplog):
    broken = replace(LANE, key="broken", patterns=("abc(",))
    assert matcher_of([broken, LANE]).first(b"fabric lane 7 lost").id == "lane_lost"
    assert "left out" in caplog.text


def test_no_pattern_takes_long_whatever_the_line_is():
    """Nested repetitions that take a backtracking engine years: with one this would never end."""
    evil = replace(LANE, patterns=("step (a+)+$", "step.*(a|b)*a(a|b){200}!"))
    line = "step " + "ab" * 2_000 + "!"
    assert with_lane(evil).classify(line) is None
