from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.times import ns_of, read_time_ns, say_time

NINE = 1_795_251_600 * 10**9


@pytest.mark.parametrize(
    ("text", "time_ns"),
    [
        (str(NINE), NINE),
        ("1795251600", NINE),
        ("1795251600.25", NINE + 250_000_000),
        ("2026-11-21T09:00:00Z", NINE),
        ("2026-11-21T09:00:00", NINE),
        ("2026-11-21 09:00:00", NINE),
        ("2026-11-21T10:00:00.5+01:00", NINE + 500_000_000),
        ("2026-11-21T09:00:00.123456789Z", NINE + 123_456_789),
        ("2026-11-21T09:00:00.1234567891Z", NINE + 123_456_789),
        ("2026-11-21", NINE - 9 * 3600 * 10**9),
        ("0", 0),
    ],
)
def test_every_way_to_write_it(text, time_ns):
    assert read_time_ns(text) == time_ns


@pytest.mark.parametrize(
    "text", ["", "yesterday", "nan", "inf", "1e300", "²", "2026-13-01", "9" * 30, "12:00", "."]
)
def test_what_is_no_time_is_none(text):
    assert read_time_ns(text) is None


@given(st.text(max_size=40))
def test_no_text_breaks_it(text):
    assert read_time_ns(text) is None or isinstance(read_time_ns(text), int)


@given(st.integers(10**19 // 10, 2**62))
def test_what_is_said_reads_back(time_ns):
    assert read_time_ns(say_time(time_ns)) == time_ns


@pytest.mark.parametrize("microsecond", [0, 1, 123_457, 999_999])
def test_a_moment_of_the_database_keeps_its_microseconds(microsecond):
    """`timestamp() * 1e9` is off by up to 200 ns in these years."""
    at = datetime(2026, 11, 29, 19, 46, 3, microsecond, tzinfo=UTC)
    assert ns_of(at) % 10**9 == microsecond * 1_000
