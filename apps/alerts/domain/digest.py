"""The daily digest: when, and what is in it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from apps.alerts.domain.body import Body, Link
from apps.alerts.domain.mail import clock, zone_of
from apps.alerts.domain.timing import SECOND_NS
from apps.core.words import duration, many
from apps.incidents.domain.incident import IncidentInfo, IncidentState

HOUR = 7
LATE_HOURS = 6
MAX_ITEMS = 50


@dataclass(frozen=True, slots=True)
class Entry:
    """An incident of the day. flapping: its mails were stopped."""

    incident: IncidentInfo
    run_key: str
    flapping: bool = False


def day_of(now_ns: int, zone: str) -> int | None:
    """The day whose digest is due, as 20260301: from seven in the morning of the recipient on, for
    six hours (a worker that was away does not send the news of the morning at night); else None."""
    local = datetime.fromtimestamp(now_ns / 1e9, tz=UTC).astimezone(zone_of(zone))
    if not HOUR <= local.hour < HOUR + LATE_HOURS:
        return None
    return int(local.strftime("%Y%m%d"))


def period_ns(day: int, zone: str) -> tuple[int, int]:
    """What the digest of a day covers: from seven on the day before to seven."""
    end = datetime.strptime(str(day), "%Y%m%d").replace(hour=HOUR, tzinfo=zone_of(zone))
    begin = end - timedelta(days=1)
    return int(begin.timestamp()) * SECOND_NS, int(end.timestamp()) * SECOND_NS


def worth_telling(found: Collection[Entry], since_ns: int, until_ns: int) -> list[Entry]:
    """What is still open, or was opened, ended or flapping then; open first, then newest."""
    told = [entry for entry in found if _of_the_day(entry, since_ns, until_ns)]
    return sorted(told, key=lambda e: (not e.incident.unresolved, -e.incident.opened_at_ns))


def _of_the_day(entry: Entry, since_ns: int, until_ns: int) -> bool:
    incident = entry.incident
    if incident.opened_at_ns >= until_ns:
        return False
    ended_ns = incident.resolved_at_ns or 0
    return incident.unresolved or entry.flapping or max(incident.opened_at_ns, ended_ns) >= since_ns


def digest_subject(entries: Sequence[Entry]) -> str:
    """ "Daily digest: 2 incidents open, 5 in the last day"."""
    still = sum(entry.incident.unresolved for entry in entries)
    return f"Daily digest: {many(still, 'incident')} open, {len(entries)} in all"


def digest_body(entries: Sequence[Entry], site_url: str, zone: str, now_ns: int) -> Body:
    """One line an incident, the open ones first."""
    items = [_item(entry, site_url, zone, now_ns) for entry in entries[:MAX_ITEMS]]
    more = len(entries) - len(items)
    return Body(
        tone="warning" if any(entry.incident.unresolved for entry in entries) else "good",
        lead=f"{digest_subject(entries)}.",
        about=(f"{more} more are on the page.",) if more > 0 else (),
        items=tuple(items),
        todo=(Link("All incidents", f"{site_url}/incidents/", main=True),),
        why=("You get this at seven in your morning, on days with something to tell.",),
        last=(Link("Settings", f"{site_url}/alerts/mine/"),),
    )


def _item(entry: Entry, site_url: str, zone: str, now_ns: int) -> tuple[str, str, Link]:
    incident = entry.incident
    state = incident.state.value
    if incident.state is IncidentState.RESOLVED and incident.resolved_at_ns is not None:
        state = (
            f"resolved after {duration((incident.resolved_at_ns - incident.opened_at_ns) / 1e9)}"
        )
    elif incident.unresolved:
        state = f"{state} for {duration((now_ns - incident.opened_at_ns) / 1e9)}"
    flapping = ", flapping: its other mails are held back" if entry.flapping else ""
    where = f"Run {entry.run_key}, {state}{flapping}, since {clock(incident.opened_at_ns, zone)}"
    return incident.title, where, Link(incident.label, f"{site_url}/incidents/{incident.id}/")
