"""How full the log store is. Plain Python."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

WARN_PERCENT = 80


class Fill(StrEnum):
    """How a budget stands."""

    OK = "ok"
    WARN = "warn"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class DiskUse:
    """used_bytes: live rows and objects of logs. postgres_bytes: what the tables take on disk; it
    shrinks later than what they hold. budget_bytes 0: none. measured_ns: when."""

    used_bytes: int
    postgres_bytes: int
    budget_bytes: int
    measured_ns: int

    @property
    def percent(self) -> int:
        """Of the budget, rounded down; 0 without one."""
        return self.used_bytes * 100 // self.budget_bytes if self.budget_bytes else 0

    @property
    def fill(self) -> Fill:
        """WARN from WARN_PERCENT of the budget on, FULL from all of it on."""
        if self.percent >= 100:
            return Fill.FULL
        return Fill.WARN if self.percent >= WARN_PERCENT else Fill.OK
