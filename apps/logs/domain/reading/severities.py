"""How severe a line without a level is, seen alone: apart from an open traceback around it."""

from __future__ import annotations

import re
from typing import NamedTuple

from apps.core.records import Severity
from apps.logs.domain.reading.tracebacks import Tracebacks
from apps.logs.domain.triage.classify import severity_without_level

_SUMMARY = re.compile(
    r"  (?:time|host|rank|exitcode|error_file|traceback) *: |\[\d+\]:$|Failures:$"
    r"|Root Cause \(first"
)
_QUOTE = ": Traceback (most recent call last):"


class Alone(NamedTuple):
    """opens: a traceback begins with the line. quotes: it begins in the middle of it, as in
    torchrun's summary."""

    severity: int
    opens: bool = False
    quotes: bool = False


def severity_alone(body: str, *, in_console: bool) -> Alone:
    """in_console: what no process of its own printed in a merged console."""
    tracebacks = Tracebacks({})
    traced = tracebacks.severity(body, "")
    if traced is not None:
        return Alone(traced, opens=bool(tracebacks.open))
    return severity_of_text(body, in_console=in_console)


def severity_of_text(body: str, *, in_console: bool) -> Alone:
    """The same of a line that belongs to no traceback."""
    if in_console and _SUMMARY.match(body):
        return Alone(Severity.ERROR, quotes=body.endswith(_QUOTE))
    return Alone(severity_without_level(body))
