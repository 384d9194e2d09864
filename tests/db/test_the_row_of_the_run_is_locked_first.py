"""Whoever changes what belongs to a run holds its row before any other: no two wait in a circle."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.incidents import services as incidents
from apps.rollbacks import services as rollbacks
from tests import rollback_story
from tests.incident_samples import at, explosion
from tests.rollback_samples import falling
from tests.rollback_story import ADA, asked

pytestmark = pytest.mark.django_db
NOW = at(5_000)
_LOCKED = re.compile(r'FROM "?(\w+)"? .*FOR UPDATE|UPDATE "?(\w+)|INSERT INTO "?(\w+)', re.DOTALL)


def request_order(incident):
    rollbacks.request(asked())


def replace_order(incident):
    rollbacks.request(asked(750, idempotency_key="k2", supersede=True))


def acknowledge_order(incident):
    rollbacks.acknowledge(incident.run_id, ordered(incident).id, "slurm-77", ADA)


def cancel_order(incident):
    rollbacks.cancel(incident.run_id, ordered(incident).id, ADA, "wrong step")


def watch_order(incident):
    rollbacks.watch(incident.run_id, 1, NOW)


def acknowledge_incident(incident):
    incidents.acknowledge(incident.run_id, incident.id, actor=ADA, now_ns=NOW)


def resolve_incident(incident):
    incidents.resolve(incident.run_id, incident.id, "manual", NOW, actor=ADA)


def absorb_findings(incident):
    incidents.absorb(incident.run_id, 0, [explosion(title="worse")], NOW)


def ordered(incident):
    return rollbacks.store.active(incident.run_id)


@pytest.fixture
def incident(settings, tmp_path):
    settings.ORDERS_DIR = tmp_path
    return rollback_story.explode()


def locked(act, incident):
    """Tables in the order in which their rows were locked or written."""
    with CaptureQueriesContext(
        connection,
    ) as captured:
        act(incident)
    found = [_LOCKED.search(query["sql"]) for query in captured.captured_queries]
    return [next(filter(None, match.groups())) for match in found if match]


@pytest.mark.parametrize(
    "act", [acknowledge_incident, resolve_incident, absorb_findings], ids=lambda act: act.__name__
)
def test_before_an_incident(incident, act):
    tables = locked(act, incident)
    assert tables[0] == "runs_run"
    assert "incidents_incident" in tables


def test_before_a_new_order(incident):
    tables = [t for t in locked(request_order, incident) if not t.startswith("checkpoints_")]
    assert (tables[0], "rollbacks_order" in tables) == ("runs_run", True)


@pytest.mark.parametrize(
    "act", [replace_order, acknowledge_order, cancel_order, watch_order],
    ids=lambda act: act.__name__,
)  # fmt: skip
def test_before_an_order_that_is_there(incident, act):
    rollbacks.request(asked())
    rollback_story.start(1)
    rollback_story.log(incident.run_id, 1, falling(900, 920, seed=2))
    tables = [t for t in locked(act, incident) if not t.startswith("checkpoints_")]
    assert (tables[0], "rollbacks_order" in tables) == ("runs_run", True)
