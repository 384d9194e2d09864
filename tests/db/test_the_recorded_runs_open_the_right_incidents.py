"""Real telemetry in, incidents out: the truth of each recorded run."""

import pytest

from apps.incidents import store
from apps.incidents.store import IncidentQuery
from apps.rollbacks import cards
from tests.recorded import LATER_NS, analyse, job_rows, rank_rows, replay, start, write_logs

pytestmark = pytest.mark.django_db
SIZES = [25, 400]
"""Steps a batch: a live run, and a fast replay."""


def _incidents(run_id):
    return store.list_incidents(IncidentQuery(run_id=run_id))


def _pages(run_id):
    return [i for i in _incidents(run_id) if i.page]


@pytest.mark.parametrize("step_size", SIZES)
def test_the_learning_rate_bump_is_one_explosion_with_its_cause(step_size):
    run_id = start("lrbump")
    replay(run_id, job_rows("lrbump"), step_size)
    (incident,) = _pages(run_id)
    assert (incident.kind, incident.onset_step in (1000, 1001)) == ("explosion", True)
    assert incident.cause_hint == "learning rate changed at the same step"
    assert incident.suspects == ()
    assert incident.earliest_signal is not None
    assert 1000 <= incident.earliest_signal.step <= 1001
    assert incident.earliest_signal.more > 0
    assert incident.title.startswith("Loss 0.9")
    card = cards.card(incident)
    assert (card.shape, card.cause.cause, card.advice.move) == (
        "divergence",
        "learning_rate",
        "fix first",
    )


@pytest.mark.parametrize("step_size", SIZES)
def test_the_silent_corruption_is_one_incident_that_names_rank_and_host(step_size):
    run_id = start("sdc_rollback")
    replay(run_id, job_rows("sdc_rollback") + rank_rows("sdc_rollback"), step_size)
    (incident,) = _incidents(run_id)
    assert incident.page
    assert 700 <= incident.onset_step <= 711
    first = incident.suspects[0]
    assert (first.rank, first.node) == (5, "gpu-b02")
    assert first.fault_class == "silent_data_corruption"
    assert first.evidence
    assert "rank 5 (gpu-b02) is apart from all other ranks" in incident.cause_hint
    card = cards.card(incident)
    assert (card.cause.cause, card.exclude, card.skip) == ("hardware", ("gpu-b02",), None)


def test_ranks_that_arrive_long_before_or_after_the_metrics_join_the_same_incident():
    run_id = start("sdc_rollback")
    replay(run_id, job_rows("sdc_rollback"), 200)
    replay(run_id, rank_rows("sdc_rollback"), 200)
    (incident,) = _incidents(run_id)
    assert (incident.onset_step >= 700, incident.suspects[0].rank) == (True, 5)


@pytest.mark.parametrize("step_size", SIZES)
def test_three_bad_batches_page_nobody(step_size):
    run_id = start("badbatch")
    replay(run_id, job_rows("badbatch") + rank_rows("badbatch"), step_size)
    assert _pages(run_id) == []
    assert {f.kind for f in store.findings(run_id)} == {"outlier"}
    assert [i.state for i in _incidents(run_id)] in ([], ["resolved"])
    for card in map(cards.card, _incidents(run_id)):
        assert (card.shape, card.cause.cause, card.advice.move) == (
            "spike that healed",
            "data",
            "wait",
        )
        assert card.skip[0] < 350 < 352 < card.skip[1]


@pytest.mark.parametrize("step_size", SIZES)
def test_a_quiet_run_stays_quiet(step_size):
    run_id = start("quiet")
    replay(run_id, job_rows("quiet"), step_size)
    assert _incidents(run_id) == []


@pytest.mark.parametrize("run,rank,move", [("hang_r5", 5, "fix first"), ("exc_r6", 6, "fix first")])
def test_a_dead_job_names_the_rank_that_failed_first(run, rank, move):
    run_id = start(run)
    replay(run_id, job_rows(run), 400)
    write_logs(run, run_id)
    analyse(run_id, LATER_NS + 60_000_000_000)
    (incident,) = _pages(run_id)
    assert incident.kind == "failure"
    assert (incident.suspects[0].rank, incident.suspects[0].node) == (rank, "gpu-b02")
    assert incident.cause_hint.startswith(f"Rank {rank} on gpu-b02 ")
    card = cards.card(incident)
    assert (card.shape, card.cause.cause, card.advice.move) == ("dead job", "failure", move)


@pytest.mark.parametrize("step_size", SIZES)
def test_the_slow_rank_is_one_warning_that_names_rank_host_and_part(step_size):
    run_id = start("slow")
    replay(run_id, job_rows("slow") + rank_rows("slow"), step_size)
    (incident,) = _incidents(run_id)
    (suspect,) = incident.suspects
    assert (incident.kind, incident.page, incident.onset_step) == ("straggler", False, 250)
    assert (suspect.rank, suspect.node, suspect.fault_class) == (6, "gpu-b02", "straggler")
    assert "to get its data" in incident.title
    assert cards.card(incident).shape == "not the loss"
