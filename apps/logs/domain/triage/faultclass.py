"""One kind of fault that a log line can tell of."""

from __future__ import annotations

import re
from dataclasses import dataclass

ROLES = frozenset({"cause", "symptom", "either", "confirm"})


@dataclass(frozen=True, slots=True)
class FaultClass:
    """One class of the taxonomy. regexes are empty for classes found by structure and for those of
    a project (ownmatching.py). severity: the least of its lines, 0: what their writer says."""

    id: str
    title: str
    layer: str
    role: str
    blame: str
    match_priority: int
    specificity: int
    action: str
    literals: tuple[str, ...]
    regexes: tuple[re.Pattern[str], ...]
    severity: int = 0

    @property
    def of_project(self) -> bool:
        """Whether a project added it."""
        return self.severity > 0


UNKNOWN = FaultClass(
    id="unknown",
    title="Unknown",
    layer="process",
    role="symptom",
    blame="unknown",
    match_priority=0,
    specificity=0,
    action="read the last lines of every rank",
    literals=(),
    regexes=(),
)
