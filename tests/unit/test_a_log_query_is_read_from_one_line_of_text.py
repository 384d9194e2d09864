"""logs.domain.querytext and ranksets"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.records import Severity
from apps.logs.domain.query.querytext import QueryText, parse_query, say_query
from apps.logs.domain.query.ranksets import BadQuery, merged, parse_ranks, say_ranks
from apps.logs.records import LogQuery

WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\n"), min_size=1, max_size=12)
PLAIN = st.from_regex(r"[a-zA-Z0-9._-]{1,8}", fullmatch=True)
SPANS = st.lists(st.tuples(st.integers(0, 99), st.integers(0, 9)), max_size=5).map(
    lambda pairs: merged((first, first + length) for first, length in pairs)
)
LEVELS = st.sampled_from(list(Severity))
STEPS = st.none() | st.integers(0, 9_000)


@st.composite
def query_texts(draw):
    """Any conditions that the language can say."""
    low, high = sorted((draw(LEVELS), draw(LEVELS)))
    first, last = draw(STEPS), draw(STEPS)
    if first is not None and last is not None and last < first:
        first, last = last, first
    regex = draw(st.sampled_from(["", "a b", r"Xid \(PCI:[0-9a-f:]+\): (48|79)", "x/y", "^$"]))
    return QueryText(
        words=tuple(draw(st.lists(WORDS, max_size=4))),
        without=tuple(draw(st.lists(WORDS, max_size=3))),
        regex=regex,
        ignore_case=bool(regex) and draw(st.booleans()),
        rank_spans=draw(SPANS),
        nodes=tuple(draw(st.lists(PLAIN, max_size=3, unique=True))),
        min_severity=low,
        max_severity=high,
        source=draw(st.just("") | WORDS),
        templates=tuple(draw(st.lists(st.integers(0, 2**63 - 1), max_size=3, unique=True))),
        from_step=first,
        to_step=last,
        attempt=draw(st.none() | st.integers(0, 99)),
    )


@given(query_texts())
def test_what_is_said_reads_back(parts):
    assert parse_query(say_query(parts)) == parts


@given(st.text(max_size=60) | st.text(alphabet='ab:/"\\->= ranklevel0i', max_size=40))
def test_any_text_is_read_or_refused(text):
    try:
        parse_query(text)
    except BadQuery as error:
        assert error.where and error.message


@given(SPANS)
def test_ranks_read_back(spans):
    assert not spans or parse_ranks(say_ranks(spans)) == spans


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        ("out of memory", {"words": ("out", "of", "memory")}),
        ('"out of memory" -retry', {"words": ("out of memory",), "without": ("retry",)}),
        ("rank:0-7,64", {"rank_spans": ((0, 7), (64, 64))}),
        ("rank=3,1,2", {"rank_spans": ((1, 3),)}),
        ("host:gpu-0231,b", {"nodes": ("gpu-0231", "b")}),
        ("level>=error", {"min_severity": Severity.ERROR}),
        ("sev:warn", {"min_severity": 30, "max_severity": 30}),
        ("level>=info level<=warning", {"min_severity": 20, "max_severity": 30}),
        ("step:100-200", {"from_step": 100, "to_step": 200}),
        ("step:100-", {"from_step": 100}),
        ("template:17 attempt:2", {"templates": (17,), "attempt": 2}),
        (r"/Xid .*: (48|79)/", {"regex": "Xid .*: (48|79)"}),
        ("/nan/i loss", {"regex": "nan", "ignore_case": True, "words": ("loss",)}),
        ("/opt/venv/x s3://bucket", {"words": ("/opt/venv/x", "s3://bucket")}),
        ("--flag - 5:30", {"words": ("--flag", "-", "5:30")}),
        ('"rank:3" "say \\"hi\\""', {"words": ("rank:3", 'say "hi"')}),
    ],
)
def test_each_part_of_the_language(text, expected):
    assert parse_query(text) == QueryText(**expected)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rank:x", 'rank: "x" is neither a rank nor a span of ranks; write ranks as in 0-7,64'),
        ("rank:7-0", 'rank: "7-0" runs backwards; write 0-7'),
        ("rank: 5", 'rank: rank: has no value; put it in "quotes" to search it'),
        ("rank>=5", "rank: rank>= means nothing; write rank:"),
        ("level:loud", 'level: "loud" is no level; levels are debug, info, warning, error'),
        ("step:9-3", 'step: "9-3" runs backwards; write step:3-9'),
        ("attempt:1 attempt:2", "attempt: attempt is given twice; join both in one"),
        ("/(/", "regex: the regex cannot be read: missing ): "),
        ("/(?<=a)b/", "regex: the regex cannot be read: invalid perl operator: "),
        ("x" * 2_001, "query: longer than 2000 characters; shorten it"),
    ],
)
def test_an_error_says_what_and_where(text, message):
    with pytest.raises(BadQuery) as error:
        parse_query(text)
    assert str(error.value).startswith(message)


def test_the_conditions_go_into_a_query():
    query = parse_query("oom rank:3 level>=error").into(LogQuery(7, attempt=1, limit=5))
    assert query == LogQuery(
        7, attempt=1, limit=5, words=("oom",), rank_spans=((3, 3),), min_severity=40
    )
