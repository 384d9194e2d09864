"""A run that talks at times that a test says, and the looks at it."""

from __future__ import annotations

import msgspec
import orjson
from django.db import transaction

from apps.incidents import store as incidents
from apps.incidents.store import IncidentQuery
from apps.ingest import watch
from apps.ingest.digest import digest
from apps.runs import contact_store
from apps.runs import store as runs
from apps.runs.domain.contact import Rhythm, silence
from tests import factories

S = 1_000_000_000
T0 = factories.T0_NS


def at(seconds: float) -> int:
    return T0 + int(seconds * S)


def send(run_id: int, seconds: float, endpoint: str, body: bytes) -> None:
    """A body that the door received then, through the writer."""
    made = factories.envelope(endpoint, body, run_id=run_id, batch=f"{run_id}-{seconds}-{endpoint}")
    digest([msgspec.structs.replace(made, received_ns=at(seconds))], quarantine=False)


def rows(run_id: int, seconds: float, *, step: int | None = None) -> None:
    """One row, a step every two seconds."""
    at_step = int(seconds // 2) if step is None else step
    row = {"step": at_step, "time_ns": at(seconds), "values": {"train/loss": 2.0}}
    send(run_id, seconds, "metrics", orjson.dumps({"attempt": None, "rows": [row]}))


def talk(run_id: int, first: int, last: int, every: int = 15) -> int:
    """A row and a look every 15 s; how many looks had news."""
    told = 0
    for seconds in range(first, last, every):
        rows(run_id, seconds)
        told += watch.look(at(seconds + 1))
    return told


def looks(first: int, last: int) -> int:
    """Looks every 50 s while nobody talks; how many had news."""
    return sum(watch.look(at(seconds)) for seconds in range(first, last, 50))


def has_talked(run_id: int, until: int) -> int:
    """A run that has talked every 15 s for long, and was looked at."""
    rows(run_id, until)
    with transaction.atomic():
        contact_store.watched()
        known = Rhythm(gaps=(15.0,) * 20, heard_ns=at(until), contacts=1)
        contact_store.save_rhythms([(run_id, known, silence(known))])
    assert watch.look(at(until + 1)) == 0
    return run_id


def told(run_id: int) -> list[tuple[str, str]]:
    """(kind, state) of the run's incidents, oldest first."""
    found = incidents.list_incidents(IncidentQuery(run_id=run_id))
    return [(i.kind, i.state.value) for i in reversed(found)]


def a_run(key: str = "boat") -> int:
    run_id = runs.ensure_run(key)
    runs.open_attempt(run_id, 0, at(0))
    return run_id
