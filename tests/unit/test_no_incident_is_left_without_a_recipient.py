"""Routing: the union of the rules that fit, in any order, and never nobody for a page."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.alerts.domain.routing import (
    DEFAULT_RULE,
    Book,
    Channel,
    ChannelKind,
    Defaults,
    Facts,
    Rule,
    channel_id,
    routes,
)
from tests.incident_samples import INFO, PAGE, WARN

ONCALL = Defaults(("oncall@example.org",))
SLACK = Channel(1, "chat", ChannelKind.SLACK)
BOB = Channel(2, "bob", ChannelKind.EMAIL, address="bob@example.org")
EXPLOSION = Facts("explosion", PAGE, "llm", frozenset({"prod"}), "alice")

names = st.sampled_from(["", "a", "b"])
severities = st.sampled_from([PAGE, WARN, INFO])
channels = st.builds(
    Channel,
    id=st.integers(1, 4),
    name=st.just("c"),
    kind=st.sampled_from(ChannelKind),
    enabled=st.booleans(),
    project=names,
    address=st.sampled_from(["x@example.org", "y@example.org"]),
)
rules = st.builds(
    Rule,
    id=st.integers(1, 9),
    name=st.just("r"),
    severities=st.frozensets(severities),
    kinds=st.frozensets(names),
    project=names,
    tag=names,
    owner=names,
    channels=st.lists(st.integers(1, 5), max_size=3).map(tuple),
    everybody=st.booleans(),
    enabled=st.booleans(),
)
everyone = st.sampled_from(["oncall@example.org", "x@example.org", "channel:1", "channel:2"])
books = st.builds(
    Book,
    defaults=st.just(ONCALL),
    rules=st.lists(rules, max_size=5, unique_by=lambda r: r.id).map(tuple),
    channels=st.lists(channels, max_size=4, unique_by=lambda c: c.id).map(tuple),
    left=st.frozensets(st.tuples(st.integers(0, 9), everyone), max_size=6),
)
facts = st.builds(
    Facts, kind=names, severity=severities, project=names, tags=st.frozensets(names), owner=names
)


@given(facts, books, st.sets(everyone))
def test_a_page_always_has_a_recipient(one, book, broken):
    assert routes(replace(one, severity=PAGE), book, broken).routes


@given(facts, books, st.randoms())
def test_the_order_of_rules_and_channels_changes_nothing(one, book, random):
    mixed = replace(
        book,
        rules=tuple(random.sample(book.rules, len(book.rules))),
        channels=tuple(random.sample(book.channels, len(book.channels))),
    )
    assert routes(one, mixed) == routes(one, book)


@given(facts, books, rules)
def test_another_rule_never_takes_a_recipient_away_from_the_rules_that_fit(one, book, more):
    before = routes(one, book)
    after = routes(one, replace(book, rules=(*book.rules, replace(more, id=10))))
    assert before.default or set(before.recipients) <= set(after.recipients)


@given(facts, books, st.sets(everyone))
def test_whoever_is_told_is_named_by_a_rule_that_fits_or_by_the_default(one, book, broken):
    fitting = {rule.id for rule in book.rules if rule.fits(one)}
    for route in routes(one, book, broken).routes:
        assert route.rules
        assert set(route.rules) <= fitting | {DEFAULT_RULE}


@given(facts, books, st.sets(everyone))
def test_when_the_default_steps_in_the_reason_is_said(one, book, broken):
    said = routes(one, book, broken)
    assert said.why
    if said.default:
        assert "told" in said.why or "somebody" in said.why or "unsubscribed" in said.why


def test_two_rules_that_fit_tell_the_union_and_nobody_twice():
    book = Book(ONCALL, (_rule(1, 1, 2), _rule(2, 2)), (SLACK, BOB))
    said = routes(EXPLOSION, book)
    assert said.recipients == ("bob@example.org", "channel:1")
    assert said.rules_of("bob@example.org") == (1, 2)
    assert said.rules_of("nobody@example.org") == ()
    assert not said.default


def test_an_address_written_in_two_ways_is_told_once():
    shouted = Channel(3, "bob again", ChannelKind.EMAIL, address="BOB@example.org")
    oncall = Channel(4, "on call", ChannelKind.EMAIL, address="OnCall@example.org")
    everybody = replace(_rule(1, 2, 3, 4), everybody=True)
    said = routes(EXPLOSION, Book(ONCALL, (everybody,), (shouted, BOB, oncall)))
    assert said.recipients == ("bob@example.org", "oncall@example.org")


@pytest.mark.parametrize(
    "condition",
    [
        {"kinds": frozenset({"failure"})},
        {"severities": frozenset({WARN})},
        {"project": "other"},
        {"tag": "test"},
        {"owner": "bob"},
        {"enabled": False},
    ],
    ids=lambda c: next(iter(c)),
)
def test_a_condition_that_does_not_hold_leaves_the_rule_out(condition):
    said = routes(EXPLOSION, Book(ONCALL, (replace(_rule(1, 1), **condition),), (SLACK,)))
    assert said.recipients == ONCALL.recipients
    assert (said.default, said.why) == (True, "no rule fits: the default recipients are told")


def test_conditions_that_hold_choose_the_rule_whatever_the_capitals():
    strict = replace(
        _rule(1, 1), kinds=frozenset({"explosion"}), project="llm", tag="PROD", owner="Alice"
    )
    assert routes(EXPLOSION, Book(ONCALL, (strict,), (SLACK,))).recipients == ("channel:1",)


@pytest.mark.parametrize(
    "channel",
    [replace(SLACK, enabled=False), replace(SLACK, project="other")],
    ids=["switched off", "of another project"],
)
def test_a_rule_whose_channels_cannot_be_used_falls_back_and_says_so(channel):
    said = routes(EXPLOSION, Book(ONCALL, (_rule(1, 1),), (channel,)))
    assert said.recipients == ONCALL.recipients
    assert said.why.startswith("rule “rule 1”, but leads to nobody who can be told")


def test_a_channel_that_failed_for_good_is_replaced_by_the_default_recipients():
    book = Book(ONCALL, (_rule(1, 1),), (SLACK,))
    assert routes(EXPLOSION, book, {"channel:1"}).recipients == ONCALL.recipients


def test_a_warning_is_told_only_where_a_rule_asks_for_it():
    warning = replace(EXPLOSION, severity=WARN)
    asking = replace(_rule(1, 1), severities=frozenset({WARN}))
    assert routes(warning, Book(ONCALL, (asking,), (SLACK,))).recipients == ("channel:1",)
    said = routes(warning, Book(ONCALL, (_rule(1, 1),), (SLACK,)))
    assert (said.routes, said.default) == ((), True)
    assert said.why == "no rule asks for incidents of severity warn: nobody is told"


def test_who_left_a_rule_is_told_by_the_others_only():
    book = Book(ONCALL, (_rule(1, 1, 2), _rule(2, 2)), (SLACK, BOB))
    once = replace(book, left=frozenset({(1, "bob@example.org")}))
    assert routes(EXPLOSION, once).rules_of("bob@example.org") == (2,)
    gone = replace(book, left=frozenset({(1, "bob@example.org"), (2, "bob@example.org")}))
    assert routes(EXPLOSION, gone).recipients == ("channel:1",)


def test_a_page_that_everybody_unsubscribed_from_goes_out_all_the_same():
    said = routes(EXPLOSION, Book(ONCALL, left=frozenset({(DEFAULT_RULE, "oncall@example.org")})))
    assert said.recipients == ONCALL.recipients
    assert said.why.endswith("a page goes to somebody all the same")


@pytest.mark.parametrize(
    ("recipient", "number"),
    [("channel:7", 7), ("a@example.org", None), ("channel:x", None), ("7", None)],
)
def test_a_recipient_of_the_outbox_is_a_channel_or_an_address(recipient, number):
    assert channel_id(recipient) == number


def _rule(number, *channels):
    return Rule(number, f"rule {number}", channels=channels)
