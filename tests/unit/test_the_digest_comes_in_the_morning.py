"""alerts.domain.digest: when it is due, what is in it."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from apps.alerts.domain.digest import (
    Entry,
    day_of,
    digest_body,
    digest_subject,
    period_ns,
    worth_telling,
)
from apps.incidents.domain.incident import IncidentState
from tests.incident_samples import SECOND, incident

HOUR = 3600 * SECOND


def ns(text, zone="UTC"):
    return int(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp()) * SECOND


@pytest.mark.parametrize(
    ("moment", "zone", "day"),
    [
        ("2026-03-02T06:59", "", None),
        ("2026-03-02T07:00", "", 20260302),
        ("2026-03-02T12:59", "", 20260302),
        ("2026-03-02T13:00", "", None),
        ("2026-03-02T06:00", "Europe/Berlin", 20260302),
        ("2026-03-01T22:00", "Asia/Tokyo", 20260302),
        ("2026-03-02T15:30", "America/Los_Angeles", 20260302),
    ],
)
def test_it_is_due_from_seven_in_the_morning_of_the_reader(moment, zone, day):
    assert day_of(ns(moment), zone) == day


def test_it_covers_the_day_up_to_seven_also_when_the_clocks_change():
    since, until = period_ns(20260329, "Europe/Berlin")
    assert (since, until) == (
        ns("2026-03-28T07:00", "Europe/Berlin"),
        ns("2026-03-29T07:00", "Europe/Berlin"),
    )
    assert until - since == 23 * HOUR


SINCE, UNTIL = period_ns(20260302, "")


def entry(opened, resolved=None, flapping=False, number=1):
    state = IncidentState.OPEN if resolved is None else IncidentState.RESOLVED
    times = {"opened_at_ns": opened, "resolved_at_ns": resolved}
    return Entry(incident(id=number, state=state, **times), "llm-300b", flapping)


def test_what_is_still_open_is_told_every_day_and_first():
    old, new = entry(SINCE - 90 * HOUR, number=1), entry(SINCE + HOUR, SINCE + 2 * HOUR, number=2)
    assert worth_telling([new, old], SINCE, UNTIL) == [old, new]


def test_what_ended_before_or_began_after_is_not_told():
    before, after = entry(SINCE - 9 * HOUR, SINCE - HOUR), entry(UNTIL + HOUR)
    assert worth_telling([before, after], SINCE, UNTIL) == []
    assert worth_telling([entry(SINCE - 9 * HOUR, SINCE + HOUR)], SINCE, UNTIL)
    assert worth_telling([entry(SINCE - 9 * HOUR, SINCE - HOUR, flapping=True)], SINCE, UNTIL)


def test_it_says_how_much_is_open_and_how_long():
    told = [entry(UNTIL - 2 * HOUR), entry(SINCE, SINCE + HOUR, flapping=True)]
    assert digest_subject(told) == "Daily digest: 1 incident open, 2 in all"
    body = digest_body(told, "https://here", "", UNTIL)
    assert [where.split(", since")[0] for _, where, _ in body.items] == [
        "Run llm-300b, open for 2 h 00 min",
        "Run llm-300b, resolved after 1 h 00 min, flapping: its other mails are held back",
    ]
