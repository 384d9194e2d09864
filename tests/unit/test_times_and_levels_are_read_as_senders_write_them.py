"""ingest.readings"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.records import Severity
from apps.ingest.readings import MAX_NS, otel_severity, severity, time_ns

T0_NS = 1_795_132_800_123_456_789


@pytest.mark.parametrize("value", [
    T0_NS, str(T0_NS), "2026-11-20T00:00:00.123456789Z", "2026-11-20 00:00:00,123456789",
    "2026-11-20T01:00:00.123456789+01:00", "2026-11-19T19:00:00.123456789-0500",
    "2026-11-20t00:00:00.123456789z", "1795132800.123456789", " 1795132800123456789 ",
])  # fmt: skip
def test_the_same_moment(value):
    assert time_ns(value) == T0_NS


@pytest.mark.parametrize(("value", "unit_ns"), [
    (1_795_132_800, 10**9), (1_795_132_800_123, 10**6), (1_795_132_800_123_456, 10**3),
    (1_795_132_800.5, 5 * 10**8), ("1795132800", 10**9),
])  # fmt: skip
def test_the_unit_of_a_number_is_seen_by_its_size(value, unit_ns):
    assert abs(time_ns(value) - T0_NS) < unit_ns


@pytest.mark.parametrize("value", [
    "", "yesterday", "2026-02-30T00:00:00Z", "-5", 0, -1, True, None, [], float("nan"),
    float("inf"), 10**30, "9" * 19, 99_999_999_999,
])  # fmt: skip
def test_what_is_no_time(value):
    assert time_ns(value) is None


@given(st.text() | st.integers() | st.floats() | st.from_regex(r"\d{4}-\d\d-\d\d.\d\d:\d\d:\d\d"))
def test_any_value_is_a_time_that_can_be_stored_or_none(value):
    read = time_ns(value)
    assert read is None or -MAX_NS <= read <= MAX_NS


@pytest.mark.parametrize(("value", "level"), [
    ("info", Severity.INFO), ("WARN", Severity.WARNING), ("Error", Severity.ERROR),
    ("crit", Severity.CRITICAL), ("notice", Severity.INFO), ("trace", Severity.DEBUG),
    ("W", Severity.WARNING), ("emerg", Severity.CRITICAL), ("err", Severity.ERROR),
    (40, Severity.ERROR), ("30", Severity.WARNING), (3, Severity.ERROR), ("6", Severity.INFO),
    (7, Severity.DEBUG), (0, Severity.CRITICAL), (60, Severity.CRITICAL),
    ("unknown", None), ("", None), (-1, None), (10**30, None), (None, None), (True, None),
])  # fmt: skip
def test_levels(value, level):
    assert severity(value) == level


def test_severity_numbers_of_opentelemetry():
    read = [otel_severity(number) for number in range(26)]
    assert read == [
        None, *[Severity.DEBUG] * 8, *[Severity.INFO] * 4, *[Severity.WARNING] * 4,
        *[Severity.ERROR] * 4, *[Severity.CRITICAL] * 4, None,
    ]  # fmt: skip


@given(st.text() | st.integers() | st.floats())
def test_any_value_is_a_level_or_none(value):
    assert severity(value) is None or severity(value) in set(Severity)
