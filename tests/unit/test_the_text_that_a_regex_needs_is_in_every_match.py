"""logs.domain.literals"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.logs.domain.query.literals import required
from apps.logs.domain.query.ranksets import BadQuery
from apps.logs.domain.query.regexes import LineRegex

ATOMS = st.sampled_from(
    ["a", "b", "c", "B", "ab", ".", "[ab]", "[^a]", "[]a]", "[[:alpha:]b]", r"[\]a]", r"\.", r"\d",
     r"\w", r"\b", "^", "$", "{", "}", "]", "-", "ä", r"\[", "1"]
)  # fmt: skip
REPEATS = st.sampled_from(
    ["", "", "", "*", "+", "?", "{0}", "{1}", "{2,}", "{0,2}", "+?", "{1}{0}"]
)
PATTERNS = st.recursive(
    st.tuples(ATOMS, REPEATS).map("".join),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=4).map("".join),
        st.tuples(inner, inner).map("|".join),
        st.tuples(st.sampled_from(["(", "(?:", "(?P<n>"]), inner, REPEATS).map(
            lambda part: f"{part[0]}{part[1]}){part[2]}"
        ),
    ),
    max_leaves=8,
)
FLAGS = st.sampled_from(["", "", "(?i)", "(?s)", "(?U)"])


@given(FLAGS, PATTERNS, st.text(alphabet="abcB.{}]-1ä[ ", max_size=12))
def test_a_match_holds_a_text_of_each_clause(flags, pattern, line):
    try:
        regex = LineRegex(flags + pattern)
    except BadQuery:
        return
    needs = required(flags + pattern)
    if list(regex.matching(line.encode())):
        held = line.lower() if needs.ignore_case else line
        for clause in needs.clauses:
            assert any((t.lower() if needs.ignore_case else t) in held for t in clause)


@pytest.mark.parametrize(
    ("pattern", "clauses"),
    [
        (r"Xid \(PCI:[0-9a-f:]+\): (48|79)", [["Xid (PCI:"], ["): 48", "): 79"]]),
        ("(foo|bar)-(1|2)x", [["foo-1x", "foo-2x", "bar-1x", "bar-2x"]]),
        ("a(b|)c|d", [["abc", "ac", "d"]]),
        ("x(ab|cd)+y", [["x"], ["ab", "cd"], ["y"]]),
        (r"iteration +\d+/ *\d+ .*norm", [["iteration "], ["/"], [" "], ["norm"]]),
        ("colou?r", [["colo"], ["r"]]),
        ("(?i)NaN|inf", [["NaN", "inf"]]),
        ("(abc|x*)def", [["def"]]),
        ("ab{2}c", [["ab"], ["c"]]),
        (r"\x41bc", []),
        (r"\Qa.b\E", []),
        ("a(?i)b", []),
        (".*", []),
    ],
)  # fmt: skip
def test_what_a_pattern_needs(pattern, clauses):
    assert [list(clause) for clause in required(pattern).clauses] == clauses


def test_a_leading_flag_says_that_case_does_not_matter():
    assert required("(?i)oom").ignore_case
    assert not required("(?s)oom").ignore_case
