"""incidents.services.absorb after a rollback, rollbacks.services.candidates and watch."""

import pytest

from apps.alerts import services as alerts
from apps.alerts import store as alert_store
from apps.alerts.domain.message import Kind, Wanted
from apps.alerts.store import Address
from apps.incidents import services as incident_services
from apps.incidents import store as incidents
from apps.rollbacks import services, store
from tests import rollback_story
from tests.incident_samples import WARN, at, finding, rank_outlier
from tests.rollback_samples import falling, raised
from tests.rollback_story import ADA, asked

pytestmark = pytest.mark.django_db
NOW = at(9_000)


@pytest.fixture
def incident():
    return rollback_story.explode()


@pytest.fixture
def order(incident):
    made = services.request(asked(900))
    return services.acknowledge(incident.run_id, made.id, "slurm-77", ADA)


def absorb(run_id, attempt, *findings):
    changes = incident_services.absorb(run_id, attempt, list(findings), NOW)
    return [(c.incident_id, c.change) for c in changes]


def again(step=1003, attempt=1, **fields):
    return finding(f"again:{attempt}", step=step, attempt=attempt, **fields)


def best(incident):
    found = services.candidates(incident.run_id, incidents.get(incident.id))
    return next(c for c in found if c.eligible), {c.step: c for c in found}


def test_the_same_explosion_after_a_rollback_reopens_the_incident(incident, order):
    rollback_story.start(1)
    rollback_story.log(incident.run_id, 1, raised(falling(900, 1100, seed=2), 2.5, at=1001))
    assert absorb(incident.run_id, 1, again()) == [
        (incident.id, "extended"),
        (incident.id, "reopened"),
    ]
    back = incidents.get(incident.id)
    assert (back.state, back.reopened) == ("open", 1)
    assert (back.relapsed_attempt, back.relapsed_step, back.attempt) == (1, 1003, 0)
    assert (back.onset_step, back.title) == (incident.onset_step, incident.title)
    changes = services.watch(incident.run_id, 1, NOW)
    assert [(c.change, c.resolves) for c in changes] == [("resumed", False), ("failed", False)]
    assert incidents.get(incident.id).reopened == 1
    assert absorb(incident.run_id, 1, again()) == []


def test_the_change_says_to_go_back_further(incident, order):
    (_, change) = incident_services.absorb(incident.run_id, 1, [again()], NOW)
    assert change.says == (
        "reopened: it came back at step 1,003 in attempt 1; "
        "go back further: the next older checkpoint is suggested"
    )
    assert change.says in [e.text for e in incidents.events(incident.run_id, incident.id)]


def test_the_checkpoint_that_was_tried_is_no_candidate_any_more(incident, order):
    assert best(incident)[0].step == 900
    rollback_story.start(1)
    rollback_story.log(incident.run_id, 1, raised(falling(900, 1100, seed=2), 2.5, at=1001))
    absorb(incident.run_id, 1, again())
    services.watch(incident.run_id, 1, NOW)
    newest, every = best(incident)
    assert newest.step == 750
    assert every[900].reasons[0].text == (
        "tried: attempt 1 started from it and relapsed at step 1,003"
    )


def test_a_start_without_an_order_counts_as_tried_too(incident):
    rollback_story.start(1)
    rollback_story.log(incident.run_id, 1, raised(falling(755, 1100, seed=2), 2.5, at=1001))
    absorb(incident.run_id, 1, again())
    newest, every = best(incident)
    assert newest.step == 600
    assert every[900].reasons[0].text == (
        "newer than step 750, from which attempt 1 relapsed at step 1,003"
    )


def test_a_recovered_incident_comes_back_too(incident):
    incident_services.resolve(incident.run_id, incident.id, "recovered", NOW)
    rollback_story.start(1)
    assert absorb(incident.run_id, 1, again()) == [
        (incident.id, "extended"),
        (incident.id, "reopened"),
    ]


def test_who_was_told_of_it_is_told_that_it_came_back(incident, order, settings):
    settings.ALERT_RECIPIENTS = ["ada@example.org"]
    run_id = incident.run_id
    opening = Wanted(Kind.OPENING, 0, NOW, urgent=True)
    address = Address(run_id, incident.id, "ada@example.org")
    alert_store.plan(address, opening, NOW)
    (claimed,) = alert_store.claim(NOW, 10**9, 1)
    alert_store.mark_sent(claimed, "subject", NOW)
    alerts.plan(incident_services.absorb(run_id, 1, [again()], NOW + 1), NOW + 1)
    (due,) = alert_store.claim(NOW + 2, 10**9, 5)
    assert (due.kind, due.address.incident_id) == (Kind.REMINDER, incident.id)


def test_late_evidence_of_the_attempt_that_was_left_reopens_nothing(incident):
    incident_services.resolve(incident.run_id, incident.id, "recovered", NOW)
    late = rank_outlier(5, 1010)
    assert absorb(incident.run_id, 0, late) == [(incident.id, "extended")]
    found = incidents.get(incident.id)
    assert (found.state, [s.rank for s in found.suspects]) == ("resolved", [5])


def test_whom_the_relapse_accuses_is_not_hidden(incident):
    absorb(incident.run_id, 1, again(), rank_outlier(7, 1010, attempt=1))
    assert [s.rank for s in incidents.get(incident.id).suspects] == [7]


def test_what_is_no_page_or_elsewhere_is_another_incident(incident):
    assert absorb(incident.run_id, 1, again(severity=WARN))[0][0] != incident.id
    far = again(step=4000, attempt=2)
    assert absorb(incident.run_id, 2, far)[0][0] != incident.id


def test_the_verdict_of_a_relapsed_incident_waits_for_another_attempt(incident):
    run_id = incident.run_id
    absorb(run_id, 1, again(step=1250))
    rollback_story.start(1)
    rollback_story.log(run_id, 1, falling(900, 1240, seed=2))
    assert services.watch(run_id, 1, NOW) == []
    rollback_story.start(2)
    rollback_story.log(run_id, 2, falling(750, 1400, seed=3))
    assert [c.change for c in services.watch(run_id, 2, NOW)] == ["recovered"]
    assert incidents.get(incident.id).state == "resolved"


def test_a_person_and_a_launcher_see_one_history(incident, order):
    said = [e.what for e in incidents.events(incident.run_id, incident.id)]
    assert said.count("mitigated") == 1
    assert store.get(incident.run_id, order.id).state == "acknowledged"
