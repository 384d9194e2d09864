import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.logs.domain.query.logql import (
    BadQuery,
    Constant,
    Counting,
    LineFilter,
    Matcher,
    Selection,
    duration_ns,
    parse_logql,
)

MINUTE_NS = 60 * 10**9
RUN = Matcher("run", "=", "gpt")


def test_a_selector_names_labels():
    asked = parse_logql('{run="gpt", rank=~"1|2" , level!="info",node!~"gpu-a.*"}')
    assert asked == Selection(
        (
            RUN,
            Matcher("rank", "=~", "1|2"),
            Matcher("level", "!=", "info"),
            Matcher("node", "!~", "gpu-a.*"),
        )
    )


def test_line_filters_follow_it():
    asked = parse_logql(r'{run="gpt"} |= "NCCL" or `a\b` != "x\"y\n" |~ "Xid.*48" !~ "retry"')
    assert asked == Selection(
        (RUN,),
        (
            LineFilter("|=", ("NCCL", r"a\b")),
            LineFilter("!=", ('x"y\n',)),
            LineFilter("|~", ("Xid.*48",)),
            LineFilter("!~", ("retry",)),
        ),
    )


def test_a_label_filter_narrows_and_a_parser_changes_nothing():
    asked = parse_logql('{run="gpt"} | json | detected_level="error" | drop __error__ |= "x"')
    assert asked == Selection((RUN, Matcher("level", "=", "error")), (LineFilter("|=", ("x",)),))


@pytest.mark.parametrize(
    ("text", "by"),
    [
        ('sum by (level, detected_level) (count_over_time({run="gpt"}[1m]))', ("level",)),
        ('sum(count_over_time({run="gpt"}[60s])) by (node)', ("node",)),
        ('sum(count_over_time({run="gpt"}[1m]))', ()),
        ('count_over_time({run="gpt"}[1m])', None),
    ],
)
def test_lines_are_counted_by_label(text, by):
    assert parse_logql(text) == Counting(Selection((RUN,)), MINUTE_NS, False, by)


def test_a_rate_is_a_count_a_second():
    asked = parse_logql('rate({run="gpt"} |= "x" [1h30m])')
    filters = (LineFilter("|=", ("x",)),)
    assert asked == Counting(Selection((RUN,), filters), 90 * MINUTE_NS, True, None)


def test_what_grafana_asks_to_see_a_sign_of_life():
    assert parse_logql("vector(1)+vector(1)") == Constant(2.0)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("", "character 1"),
        ("{", "character 2"),
        ("{run}", "character 5"),
        ('{run="gpt"', "character 11"),
        ('{run="gpt"} and more', "character 13"),
        ('{pod="x"}', "character 2"),
        ('{run="gpt"} | line_format "{{.x}}"', "character 15"),
        ('{run=~"("}', "character 7"),
        ('{run="gpt"} |~ "["', "character 16"),
        ('max(count_over_time({run="gpt"}[1m]))', "character 1"),
        ('avg_over_time({run="gpt"}[1m])', "character 1"),
        ('count_over_time({run="gpt"})', "character 28"),
        ('{run="gpt"} ; drop table', "character 12"),
    ],
)
def test_the_place_of_an_error_is_named(text, place):
    with pytest.raises(BadQuery) as error:
        parse_logql(text)
    assert error.value.where.endswith(place)


@pytest.mark.parametrize("text", ["", "5", "m", "5m x", "five"])
def test_a_wrong_duration_is_refused(text):
    with pytest.raises(BadQuery):
        duration_ns(text)


def test_a_query_is_bounded():
    with pytest.raises(BadQuery, match="longer"):
        parse_logql("{" + " " * 6000)
    with pytest.raises(BadQuery, match="conditions"):
        parse_logql('{run="x"}' + ' |= "a"' * 60)


@given(st.text(alphabet='{}()[]|=!~",`\\ abrunlevel0159ms+', max_size=60))
def test_any_text_is_parsed_or_refused(text):
    try:
        parse_logql(text)
    except BadQuery as error:
        assert error.where


@given(st.text(max_size=30))
def test_a_quoted_text_comes_back_as_it_was(text):
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    asked = parse_logql(f'{{run="gpt"}} |= "{escaped}"')
    assert isinstance(asked, Selection)
    assert asked.filters == (LineFilter("|=", (text,)),)


def test_conditions_are_applied():
    asked = parse_logql('{run="gpt", rank=~"1|2", node!=""} |= "a" or "b" != "c" !~ "d+"')
    assert isinstance(asked, Selection)
    labels = {"run": "gpt", "rank": "2", "node": "n"}
    assert asked.matches(labels, "xby")
    assert not asked.matches(labels, "xyz")
    assert not asked.matches(labels, "abc")
    assert not asked.matches(labels, "add")
    assert not asked.matches({**labels, "rank": "12"}, "a")
    assert not asked.matches({"run": "gpt", "rank": "2"}, "a")
