"""Who may be analysed now, so that a slow run leaves the others their time. Plain Python."""

from __future__ import annotations

from dataclasses import dataclass, field

Attempt = tuple[int, int]
"""(run id, attempt)"""


@dataclass(slots=True)
class Pace:
    """An analysis that took longer than quick_s rests `rest` times as long as it took.

    Then it costs at most 1/(1 + rest) of the time of the process, however slow it is. An urgent one
    rests urgent_rest times as long. Moments are seconds of a clock that never goes back.
    """

    quick_s: float = 0.5
    rest: float = 10.0
    urgent_rest: float = 1.0
    _until_s: dict[Attempt, float] = field(default_factory=dict)

    def may(self, attempt: Attempt, now_s: float) -> bool:
        """Whether the attempt has rested."""
        return self._until_s.get(attempt, now_s) <= now_s

    def ended(
        self, attempt: Attempt, start_s: float, end_s: float, *, urgent: bool = False
    ) -> None:
        """Notes how long an analysis took. Those that have rested are forgotten.

        urgent: a failure that was given out is not settled, which it is after 30 s at the latest.
        """
        self._until_s = {key: until for key, until in self._until_s.items() if until > end_s}
        if end_s - start_s > self.quick_s:
            rest = self.urgent_rest if urgent else self.rest
            self._until_s[attempt] = end_s + rest * (end_s - start_s)
