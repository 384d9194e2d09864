"""Every statement against the tables of incidents."""

from apps.incidents.domain.incident import EventInfo
from apps.incidents.store.findings import (
    as_stored,
    findings,
    findings_by_incident,
    findings_by_key,
    findings_of_kind,
    save_findings,
)
from apps.incidents.store.history import add_events, events, notes
from apps.incidents.store.lists import IncidentQuery, counts, list_incidents, list_urgent, of_runs
from apps.incidents.store.movers import movers, save_movers
from apps.incidents.store.rows import (
    add_incident,
    attempts_waiting,
    get,
    get_many,
    homes,
    live_incidents,
    lock,
    onset_ns,
    open_count,
    paging,
    save_earliest,
    save_standing,
    save_summary,
    to_look_again,
    waiting,
)

__all__ = [
    "EventInfo",
    "IncidentQuery",
    "add_events",
    "add_incident",
    "as_stored",
    "attempts_waiting",
    "counts",
    "events",
    "findings",
    "findings_by_incident",
    "findings_by_key",
    "findings_of_kind",
    "get",
    "get_many",
    "homes",
    "list_incidents",
    "list_urgent",
    "live_incidents",
    "lock",
    "movers",
    "notes",
    "of_runs",
    "onset_ns",
    "open_count",
    "paging",
    "save_earliest",
    "save_findings",
    "save_movers",
    "save_standing",
    "save_summary",
    "to_look_again",
    "waiting",
]
