"""logs.domain.triage.trying: what may be tried, and what is looked for in the lines of a run."""

import pytest

from apps.logs.domain.query.regexes import MAX_REGEX_CHARS, LineRegex
from apps.logs.domain.triage import trying
from apps.logs.domain.triage.classify import taxonomy
from apps.logs.domain.triage.ownclasses import MAX_PATTERNS, BadFaultClass, OwnClasses


def on_trial(*patterns):
    return trying.Tester(patterns, OwnClasses(), taxonomy())


@pytest.mark.parametrize("count", [0, MAX_PATTERNS + 1])
def test_as_many_patterns_are_tried_as_a_class_may_have(count):
    with pytest.raises(BadFaultClass, match=f"{count} patterns"):
        on_trial(*["fabric lane"] * count)


def test_long_patterns_are_looked_for_by_the_beginning_of_their_texts():
    patterns = [f"lane {letter} " + "(lost) [gone] " * 30 for letter in "abcdefgh"]
    regex = on_trial(*patterns).regex
    assert len(regex) <= MAX_REGEX_CHARS
    assert LineRegex(regex).finds(b"LANE C lost gone and more")


def test_short_patterns_are_looked_for_whole():
    regex = LineRegex(on_trial(r"fabric lane \d+ lost").regex)
    assert regex.finds(b"fabric lane 7 lost")
    assert not regex.finds(b"fabric line 7 lost")
