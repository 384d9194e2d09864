"""Keeps what is open and collects what is to be told after each row."""

from __future__ import annotations

from collections.abc import Mapping

from apps.core.records import Finding
from apps.metrics.domain import reports
from apps.metrics.domain.context import Change
from apps.metrics.domain.reports import Here, Mark
from apps.metrics.domain.train_row import TrainRow


class Teller:
    """Opens, raises and ends the marks of one attempt. `found`: key -> newest state of a finding.

    marks: name of a test (a key of reports.WORDINGS) -> what is open of it; the caller stores it.
    """

    __slots__ = ("attempt", "found", "marks", "row", "series")

    def __init__(self, attempt: int, series: Mapping[str, str], marks: dict[str, Mark]) -> None:
        self.attempt, self.series, self.marks = attempt, series, marks
        self.found: dict[str, Finding] = {}
        self.row = 0

    def here(self, row: TrainRow) -> Here:
        """The row that is judged."""
        return Here(self.attempt, self.series, row.step, row.time_ns)

    def add(self, finding: Finding) -> None:
        """Tell a finding; a newer state of the same key takes the place of the older one."""
        self.found[finding.key] = finding

    def open(self, name: str, row: TrainRow, mark: Mark, change: Change | None = None) -> None:
        """A test opened or grew louder at this row."""
        mark.row, mark.seen_step, mark.seen_time_ns = self.row, row.step, row.time_ns
        self.marks[name] = mark
        self.add(reports.marked(self.here(row), name, mark, change))

    def end(self, name: str, row: TrainRow) -> None:
        """What is open of a test has ended; nothing if nothing is."""
        mark = self.marks.pop(name, None)
        if mark is not None:
            mark.closed = True
            self.add(reports.marked(self.here(row), name, mark, None))

    def forget(self, name: str) -> None:
        """What is open of a test stays open for good: another level is normal from now on."""
        self.marks.pop(name, None)
