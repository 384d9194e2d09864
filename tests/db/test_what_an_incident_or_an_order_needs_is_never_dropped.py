"""Guards of retention: marks, orders, open incidents, the last alert."""

import pytest

from apps.accounts.records import SYSTEM
from apps.checkpoints import marks, retention
from apps.checkpoints.domain.retention import Rules
from apps.core.clock import now_ns
from apps.rollbacks import keeping
from apps.rollbacks import services as rollbacks
from apps.runs import store as runs
from tests import retention_samples, rollback_story

pytestmark = pytest.mark.django_db(transaction=True)


def test_marks_are_reasons_in_words():
    now = now_ns()
    run = retention_samples.run_with(now, [100, 200, 300, 400])
    marks.pin(run.id, (0, 100), reason="the paper", actor=SYSTEM)
    marks.tag(run.id, (0, 100), "release", actor=SYSTEM)
    later = now + 10**12
    marks.lease(run.id, (0, 200), "eval-1", until_ns=later, reason="mmlu", actor=SYSTEM)
    assert keeping.guards(run.id, now) == {
        (0, 100): ("pinned by lastgood: the paper", "tagged release"),
        (0, 200): ("leased by eval-1: mmlu",),
    }
    assert (0, 200) not in keeping.guards(run.id, later + 1)


def test_candidates_of_an_open_incident_stay(valkey):
    incident = rollback_story.explode()
    now = now_ns()
    found = keeping.guards(incident.run_id, now)
    told = {words for reasons in found.values() for words in reasons}
    assert f"a candidate of {incident.label}" in told
    assert f"the last complete one before {incident.label}" in told
    run = runs.run_by_id(incident.run_id)
    plan = retention.outlook(run, found, now, Rules(last=1)).plan
    assert not set(found) & {one.key for one in plan.dropped}


def test_where_an_order_led_stays_until_it_is_taken_back(valkey):
    incident = rollback_story.explode()
    order = rollbacks.request(rollback_story.asked(150, incident_id=incident.id, force=True))
    key = (order.attempt, order.step)
    words = f"{order.label} leads to it"
    assert words in keeping.guards(incident.run_id, now_ns())[key]
    rollbacks.cancel(incident.run_id, order.id, SYSTEM, "not needed")
    assert words not in keeping.guards(incident.run_id, now_ns()).get(key, ())
