"""One incident as a page: what is known of it, and what the page adds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

from apps.accounts import store as accounts
from apps.core.records import Candidate
from apps.dashboard import series
from apps.dashboard.curves import time_to_step
from apps.incidents.domain.incident import IncidentInfo
from apps.incidents.domain.timeline import TimelineItem, shortened
from apps.rollbacks.account import AFTER_NS, BEFORE_NS, account_of
from apps.rollbacks.records import Account
from apps.runs.records import RunInfo

BEFORE_STEPS, AFTER_STEPS = 200, 120
"""The window in steps when a run does thousands of steps in half an hour."""
SHOWN_CANDIDATES = 3
SHOWN_ITEMS = 200
_SECOND_NS = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Story(Account):
    """Everything the incident page shows. silenced: no message goes out now. lasted_s: from the
    opening to the end, or until now. people: who may be the owner."""

    window: tuple[int, int] | None
    silenced: bool
    lasted_s: float
    people: Sequence[str]

    @property
    def shown_timeline(self) -> Sequence[TimelineItem]:
        """The timeline, at most SHOWN_ITEMS of it."""
        return shortened(self.timeline, SHOWN_ITEMS)

    @property
    def left_out(self) -> int:
        """How many lines of the timeline the page has no room for."""
        return max(0, len(self.timeline) - SHOWN_ITEMS)

    @property
    def top(self) -> Sequence[Candidate]:
        """The best candidates."""
        return self.candidates[:SHOWN_CANDIDATES]

    @property
    def best(self) -> Candidate | None:
        """The checkpoint to go back to, None if none is eligible."""
        return next((c for c in self.candidates if c.eligible), None)


def story(incident: IncidentInfo, now_ns: int) -> Story:
    """The incident with everything around it."""
    account = account_of(incident, now_ns)
    known = {field.name: getattr(account, field.name) for field in fields(account)}
    ended_ns = incident.resolved_at_ns or now_ns
    return Story(
        **known,
        window=_window(account.run, incident),
        silenced=incident.silenced(now_ns),
        lasted_s=(ended_ns - incident.opened_at_ns) / _SECOND_NS,
        people=accounts.usernames(),
    )


def _window(run: RunInfo, incident: IncidentInfo) -> tuple[int, int] | None:
    """Steps around the onset: half an hour before and ten minutes after, at most a few hundred."""
    key = series.shown(run.id).loss
    if key is None or incident.onset_step is None:
        return None
    curves = series.curves(run.id, [key], points=1000, attempt=incident.attempt)[key]
    curves = [c for c in curves if c.rank is None and len(c.step)]
    start = time_to_step(curves, incident.onset_time_ns - BEFORE_NS)
    end = time_to_step(curves, incident.onset_time_ns + AFTER_NS)
    low = max(int(start or 0), incident.onset_step - BEFORE_STEPS)
    high = min(int(end or incident.onset_step), incident.onset_step + AFTER_STEPS)
    return max(0, low), max(high, incident.onset_step) + 10
