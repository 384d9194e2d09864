"""incidents.services.absorb: rows, replays, ends and returns."""

import math
from dataclasses import replace

import pytest

from apps.accounts import store as accounts
from apps.core.records import Evidence
from apps.incidents import services, store
from apps.incidents.store import IncidentQuery
from apps.runs import store as runs
from apps.runs.records import PlacementInfo
from tests.incident_samples import (
    INFO,
    PAGE,
    WARN,
    at,
    ended,
    explosion,
    failure,
    finding,
    level_shift,
    rank_outlier,
)

NOW = at(5000)


@pytest.fixture
def run_id(db):
    run_id = runs.ensure_run("lrbump")
    runs.open_attempt(run_id, 0, at(0))
    runs.record_placements(run_id, 0, [PlacementInfo(5, "gpu-b02", 1)])
    return run_id


def _absorb(run_id, *findings, now=NOW):
    return [c.change for c in services.absorb(run_id, 0, findings, now)]


def _only(run_id):
    (incident,) = store.list_incidents(IncidentQuery(run_id=run_id))
    return incident


def test_an_explosion_opens_one_paging_incident(run_id):
    assert _absorb(run_id, explosion()) == ["opened"]
    incident = _only(run_id)
    assert (incident.kind, incident.page, incident.onset_step) == ("explosion", True, 1001)
    assert incident.cause_hint == "learning rate changed at the same step"
    assert (incident.state, incident.opened_at_ns) == ("open", NOW)


def test_a_repeated_call_changes_nothing(run_id):
    _absorb(run_id, explosion())
    before = _only(run_id), store.events(run_id, _only(run_id).id), accounts.audit_rows(50)
    assert _absorb(run_id, explosion(), now=NOW + 1) == []
    assert (_only(run_id), store.events(run_id, _only(run_id).id), accounts.audit_rows(50)) == (
        before
    )


def test_a_level_shift_and_a_rank_apart_become_one_incident_with_its_host(run_id):
    assert _absorb(run_id, level_shift()) == ["opened"]
    assert _absorb(run_id, rank_outlier()) == ["extended"]
    incident = _only(run_id)
    assert (incident.kind, incident.onset_step, incident.finding_count) == ("level_shift", 701, 2)
    first = incident.suspects[0]
    assert (first.rank, first.node, first.fault_class) == (5, "gpu-b02", "silent_data_corruption")
    assert first.evidence[0].text == "loss of rank 5 is 2.8, of all others 1.1"


def test_a_spike_that_healed_opens_an_incident_that_pages_nobody_and_is_over(run_id):
    spike = finding("o", "outlier", 350, WARN, **ended(9, 350))
    assert _absorb(run_id, spike) == ["opened", "resolved"]
    incident = _only(run_id)
    assert (incident.page, incident.state, incident.resolution) == (False, "resolved", "closed")


def test_quiet_outliers_are_kept_without_an_incident(run_id):
    quiet = finding("o", "outlier", 350, INFO)
    assert _absorb(run_id, quiet) == []
    assert store.list_incidents(IncidentQuery(run_id=run_id)) == []
    assert store.findings(run_id) == [quiet]


def test_a_quiet_finding_that_grows_loud_opens_its_incident(run_id):
    _absorb(run_id, finding("o", "outlier", 350, INFO))
    assert _absorb(run_id, finding("o", "explosion", 350, PAGE)) == ["opened"]
    assert [f.key for f in store.findings(run_id, _only(run_id).id)] == ["o"]


def test_a_dead_job_is_one_incident_with_the_suspect_of_the_triage(run_id):
    assert _absorb(run_id, failure(facts={"settled": False})) == ["opened"]
    assert _only(run_id).settled is False
    assert _absorb(run_id, failure()) == ["extended"]
    incident = _only(run_id)
    assert (incident.kind, incident.settled) == ("failure", True)
    assert (incident.suspects[0].rank, incident.suspects[0].node) == (6, "gpu-b02")


def test_an_incident_ends_with_its_last_finding_and_comes_back_as_the_same(run_id):
    _absorb(run_id, explosion())
    assert _absorb(run_id, explosion(**ended())) == ["extended", "resolved"]
    assert _absorb(run_id, finding("again", step=1030), now=NOW + 9) == ["extended", "reopened"]
    incident = _only(run_id)
    assert (incident.state, incident.reopened, incident.resolved_at_ns) == ("open", 1, None)


def test_what_a_person_resolved_is_extended_and_never_reopened(run_id):
    _absorb(run_id, explosion())
    services.resolve(run_id, _only(run_id).id, "manual", NOW)
    worse = replace(explosion(), facts={"before": 0.97, "value": 9.0})
    assert _absorb(run_id, worse) == ["extended"]
    assert _only(run_id).state == "resolved"


def test_a_page_stays_a_page_even_if_its_finding_is_taken_back(run_id):
    _absorb(run_id, explosion())
    _absorb(run_id, replace(explosion(), kind="outlier", severity=WARN))
    assert (_only(run_id).page, _only(run_id).severity) == (True, "page")


def test_another_attempt_has_incidents_of_its_own(run_id):
    _absorb(run_id, explosion())
    services.absorb(run_id, 1, [finding("other", step=1900, attempt=1)], NOW)
    assert [i.attempt for i in store.list_incidents(IncidentQuery(run_id=run_id))] == [1, 0]


def test_numbers_that_json_cannot_hold_survive_and_stay_equal(run_id):
    odd = finding(
        kind="nonfinite",
        series="train/loss",
        facts={"before": 1.0, "value": math.nan, "z": math.inf},
        evidence=(Evidence("the loss is NaN"),),
    )
    assert _absorb(run_id, odd) == ["opened"]
    assert store.findings(run_id)[0].facts == {"before": 1.0, "value": "NaN", "z": "Infinity"}
    assert _absorb(run_id, odd) == []
    assert _only(run_id).title == "Loss 1.00 -> NaN since step 1,001"


def test_every_change_leaves_a_line_in_history_and_audit(run_id):
    _absorb(run_id, explosion())
    _absorb(run_id, explosion(**ended()))
    history = [e.key for e in store.events(run_id, _only(run_id).id)]
    assert sorted(history) == ["finding:spike:train/loss:1001", "opened", "resolved:1"]
    assert [row.action for row in accounts.audit_rows(10)] == [
        "incident.resolved",
        "incident.opened",
    ]
