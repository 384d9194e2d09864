"""What the page of kept logs reads from its form."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import QueryDict

from apps.core.errors import AppError
from apps.core.words import whole
from apps.logs.domain.chunk.retention import KeepRule

GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class KeptForm:
    """The form as it was sent. rule None: the settings count. seen_ns: of the rule it changes."""

    rule: KeepRule | None
    seen_ns: int
    reason: str


def read_form(sent: QueryDict) -> KeptForm:
    """Raises AppError for what is no number; empty fields are no limit."""
    rule = KeepRule(_days(sent.get("days", "")), _bytes(sent.get("gib", "")))
    return KeptForm(
        None if sent.get("default") else rule,
        whole(sent.get("seen", "")) or 0,
        sent.get("reason", "")[:2_000],
    )


def _days(text: str) -> int | None:
    if not text.strip():
        return None
    days = whole(text.strip())
    if days is None:
        raise AppError(f'"{text[:40]}" is no number of days', where="days", hint="digits only")
    return days


def _bytes(text: str) -> int | None:
    if not text.strip():
        return None
    try:
        gib = float(text.strip())
    except ValueError:
        gib = -1.0
    if not 0 < gib < 1e9:
        raise AppError(f'"{text[:40]}" is no size', where="size", hint="GiB, such as 500 or 0.5")
    return round(gib * GIB)
