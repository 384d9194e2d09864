"""Times and levels as senders write them. Plain Python."""

from __future__ import annotations

import re
from typing import Any, Final

from apps.core.records import Severity
from apps.logs.domain.reading.headers import Clock
from apps.logs.domain.reading.prefixes import LEVELS

_STAMP = re.compile(
    r"(\d{4}-\d\d-\d\d[ Tt]\d\d:\d\d:\d\d)(?:[.,](\d{1,9})\d*)? ?(Z|z|UTC|[+-]\d\d:?\d\d)?"
)
_DIGITS = re.compile(r"\d{1,19}")
_FRACTION = re.compile(r"(\d{1,19})\.(\d{1,9})\d*")
_UTC = Clock(0)
MAX_NS: Final = 2**63 - 1
_UNITS: Final = ((10**11, 10**9), (10**14, 10**6), (10**17, 10**3), (MAX_NS + 1, 1))
"""(below, factor): seconds until 5138, milliseconds since 1973, microseconds, nanoseconds."""

_WORDS: Final = {name.lower(): level for name, level in LEVELS.items() if len(name) > 1} | {
    "trace": Severity.DEBUG,
    "dbg": Severity.DEBUG,
    "verbose": Severity.DEBUG,
    "information": Severity.INFO,
    "informational": Severity.INFO,
    "notice": Severity.INFO,
    "err": Severity.ERROR,
    "severe": Severity.ERROR,
    "crit": Severity.CRITICAL,
    "alert": Severity.CRITICAL,
    "emerg": Severity.CRITICAL,
    "emergency": Severity.CRITICAL,
    "panic": Severity.CRITICAL,
}
_SYSLOG: Final = (
    Severity.CRITICAL, Severity.CRITICAL, Severity.CRITICAL, Severity.ERROR, Severity.WARNING,
    Severity.INFO, Severity.INFO, Severity.DEBUG,
)  # fmt: skip
_OTEL: Final = ((5, Severity.DEBUG), (9, Severity.DEBUG), (13, Severity.INFO),
                (17, Severity.WARNING), (21, Severity.ERROR), (25, Severity.CRITICAL))  # fmt: skip


def time_ns(value: Any) -> int | None:
    """Unix ns of RFC 3339 text, or of a number in s, ms, us or ns by its size; None: unreadable.

    Text without a zone is UTC. Seconds may have a fraction, also as text.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return _scaled(value)
    if isinstance(value, float):
        return _scaled_fraction(value)
    if isinstance(value, str):
        return _time_of_text(value.strip())
    return None


def _time_of_text(text: str) -> int | None:
    found = _STAMP.fullmatch(text)
    if found is not None:
        zone = found[3]
        zone = "Z" if zone in (None, "z", "UTC") else zone
        return _UTC.iso(found[1].replace("t", "T"), found[2], zone)
    if _DIGITS.fullmatch(text):
        return _scaled(int(text))
    if found := _FRACTION.fullmatch(text):
        seconds = int(found[1]) < _UNITS[0][0]
        part_ns = int(found[2].ljust(9, "0")) if seconds else 0
        return _in_range((_scaled(int(found[1])) or 0) + part_ns)
    return None


def _scaled(value: int) -> int | None:
    if value <= 0:
        return None
    for below, factor in _UNITS:
        if value < below:
            return _in_range(value * factor)
    return None


def _in_range(at_ns: int) -> int | None:
    return at_ns if 0 < at_ns <= MAX_NS else None


def _scaled_fraction(value: float) -> int | None:
    if not 0 < value < MAX_NS:  # also NaN
        return None
    for below, factor in _UNITS:
        if value < below:
            whole = int(value)
            return _in_range(whole * factor + int((value - whole) * factor))
    return None


def severity(value: Any) -> Severity | None:
    """Severity of a level as a word, or as a number: 0-7 as syslog and journald count, from 10 on
    as Python's logging. None: it says nothing that is known."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        word = value.strip().lower()
        if word in _WORDS:
            return _WORDS[word]
        if len(word) == 1 and word.upper() in LEVELS:
            return Severity(LEVELS[word.upper()])
        return severity(int(word)) if _DIGITS.fullmatch(word) else None
    if isinstance(value, (int, float)) and 0 <= value <= 7:
        return _SYSLOG[int(value)]
    if isinstance(value, (int, float)) and 8 <= value <= 100:
        return Severity(min(50, max(10, int(value) // 10 * 10)))
    return None


def otel_severity(number: int) -> Severity | None:
    """Severity of OpenTelemetry's SeverityNumber, 1-24; None for 0 (not said) and others."""
    if not 1 <= number <= 24:
        return None
    return next(level for below, level in _OTEL if number < below)
