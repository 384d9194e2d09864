"""Times as programs write them: Unix nanoseconds, Unix seconds, RFC 3339."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import overload

from apps.core.words import whole

NS = 10**9
TIMES = "Unix nanoseconds, Unix seconds or RFC 3339, such as 2026-11-20T09:00:00Z"
"""What to write, for errors."""
_SECONDS_DIGITS = 10
_MAX_NS = 2**63 - 1


def read_time_ns(text: str) -> int | None:
    """Unix nanoseconds of a time; None if it is none.

    Digits alone are seconds up to ten of them, else nanoseconds; a number with a fraction is
    seconds. RFC 3339 without a zone is UTC; digits behind the microseconds count.
    """
    digits = whole(text, _MAX_NS)
    if digits is not None:
        return digits * NS if len(text) <= _SECONDS_DIGITS else digits
    number = _number(text)
    if number is not None:
        return round(number * NS) if abs(number) < 10**_SECONDS_DIGITS else None
    return _iso_ns(text)


@overload
def ns_of(at: datetime) -> int: ...


@overload
def ns_of(at: None) -> None: ...


def ns_of(at: datetime | None) -> int | None:
    """Unix nanoseconds of a time, None of none; microseconds count."""
    if at is None:
        return None
    whole_s = int(at.replace(microsecond=0).timestamp())
    return whole_s * NS + at.microsecond * 1_000


def say_time(time_ns: int) -> str:
    """RFC 3339 in UTC with nanoseconds. Raises ValueError outside the years 1 to 9999."""
    seconds, rest = divmod(time_ns, NS)
    return f"{datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None).isoformat()}.{rest:09d}Z"


def _iso_ns(text: str) -> int | None:
    whole_part, fraction, zone = _cut_fraction(text.strip())
    try:
        said = datetime.fromisoformat(whole_part + zone)
    except ValueError:
        return None
    said = said if said.tzinfo else said.replace(tzinfo=UTC)
    return int(said.timestamp()) * NS + int(f"{fraction:0<9}"[:9] or 0)


def _cut_fraction(text: str) -> tuple[str, str, str]:
    """(before, digits, zone) of `...12.345678901+01:00`: Python keeps microseconds only."""
    before, dot, after = text.partition(".")
    digits = after[: len(after) - len(after.lstrip("0123456789"))]
    if not dot or not digits:
        return text, "", ""
    return before, digits, after[len(digits) :]


def _number(text: str) -> Decimal | None:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None
