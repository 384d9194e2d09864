"""incidents.clues against real tables: siblings, attempts, configurations, hosts, relapses."""

import numpy as np
import pytest
from django.utils import timezone

from apps.checkpoints import services as checkpoints
from apps.core.records import CheckpointSeen, MetricRow, NodeEvent
from apps.incidents import acting, store
from apps.incidents import services as incidents
from apps.incidents.clues import clues_of
from apps.incidents.domain.clues import ConfigSeen, ResumeSeen
from apps.incidents.domain.incident import Resolution
from apps.incidents.store import IncidentQuery
from apps.incidents.store import clues as clue_store
from apps.metrics import store as metrics
from apps.nodes import store as nodes
from apps.runs import store as runs
from apps.runs.records import PlacementInfo, Progress
from tests.incident_samples import SECOND, at, finding

pytestmark = pytest.mark.django_db
ONSET = 300


def train(key, *, attempt=0, steps=(0, 400), spike_at=None, project="p", **config):
    """A run with a row a second whose loss may spike for one step; its id."""
    run_id = runs.ensure_run(key)
    first, last = steps
    runs.open_attempt(run_id, attempt, at(first))
    noise = 0.01 * np.random.default_rng(7).standard_normal(last - first)
    rows = [
        MetricRow(step, at(step), {"train/loss": 9.0 if step == spike_at else 2.0 + wobble})
        for step, wobble in zip(range(first, last), noise, strict=True)
    ]
    metrics.write_rows(run_id, attempt, rows, source="wandb")
    progress = Progress(first, last - 1, at(last), at(last), project, config=config)
    runs.note_progress(run_id, attempt, progress, timezone.now())
    return run_id


def fall_ill(run_id, step=ONSET, attempt=0):
    """The newest incident of the run, opened by an explosion at `step`."""
    facts = {"before": 2.0, "peak": 9.0, "peak_step": step}
    told = finding(
        f"spike:a{attempt}:s{step}", step=step, attempt=attempt, series="train/loss", facts=facts
    )
    incidents.absorb(run_id, attempt, [told], at(step + 5))
    return store.list_incidents(IncidentQuery(run_id=run_id))[0]


def clues(incident):
    return clues_of(incident, store.findings(incident.run_id, incident.id))


def told_of(found):
    return [(p.named, p.outlier, p.same_order) for p in found.passages]


def test_a_sibling_with_the_same_outlier_at_the_same_step_is_found():
    train("twin", spike_at=ONSET, seed=0)
    train("calm", seed=0)
    train("other order", seed=1)
    train("elsewhere", spike_at=ONSET, project="q")
    train("too short", steps=(0, 200))
    found = clues(fall_ill(train("mine", spike_at=ONSET, seed=0)))
    assert told_of(found) == [
        ("run other order", False, False),
        ("run calm", False, True),
        ("run twin", True, True),
    ]
    assert (found.passages[-1].step, found.runs_asked) == (ONSET, 4)


def test_a_run_without_a_project_has_no_siblings():
    train("twin", spike_at=ONSET, project="")
    assert clues(fall_ill(train("mine", project=""))).passages == ()


def test_attempts_of_the_same_run_are_looked_at_before_other_runs():
    train("calm")
    train("mine", spike_at=ONSET)
    run_id = train("mine", attempt=1, steps=(200, 400), spike_at=ONSET)
    assert told_of(clues(fall_ill(run_id, attempt=1))) == [
        ("attempt 0", True, None),
        ("run calm", False, None),
    ]


def test_a_run_that_was_ill_before_says_nothing_of_the_data():
    ill = train("ill")
    fall_ill(ill, step=250)
    assert clues(fall_ill(train("mine", spike_at=ONSET))).passages == ()


def test_what_is_left_of_the_spike_and_the_pace_are_read_from_the_rows():
    found = clues(fall_ill(train("mine", spike_at=ONSET)))
    assert found.left_ratio == pytest.approx(0.0, abs=0.01)
    assert (found.step_s, found.newest_step, found.nonfinite_rows) == (1.0, 399, 0)
    assert (found.rate, found.scale, found.gpus) == (None, None, None)


def test_a_restart_is_compared_with_the_attempt_before_it():
    train("mine", steps=(0, 290), lr=1e-3, **{"wandb/commit": "aaaa"})
    run_id = runs.ensure_run("mine")
    files = {"model.safetensors": 1, "trainer_state.json": 1}
    seen = CheckpointSeen(280, "ckpt/280", at(280), 1.0, files)
    checkpoints.record(run_id, 0, [seen])
    train("mine", attempt=1, steps=(281, 400), lr=4e-2, **{"wandb/commit": "bbbb"})
    found = clues(fall_ill(run_id, attempt=1))
    assert found.config == ConfigSeen(0, ("lr: 0.001 → 0.04",), True, ("aaaa", "bbbb"))
    assert found.resume == ResumeSeen(1, 281, 19, optimizer=False)


def test_events_of_the_hosts_near_the_onset_are_clues_and_mere_information_is_not():
    run_id = train("mine", spike_at=ONSET)
    runs.record_placements(run_id, 0, [PlacementInfo(0, "gpu-a01", 0)])
    xid = NodeEvent("gpu-a01", at(290), "xid", "error", "Xid 79")
    nodes.record([
        xid,
        NodeEvent("gpu-a01", at(295), "job", "info", "prolog"),
        NodeEvent("gpu-c03", at(290), "xid", "error", "Xid 79"),
        NodeEvent("gpu-a01", at(290) - 7_200 * SECOND, "xid", "error", "Xid 13"),
    ])  # fmt: skip
    assert clues(fall_ill(run_id)).events == (xid,)


def test_an_attempt_that_went_back_and_fell_ill_again_has_tried_its_checkpoint():
    run_id = train("mine", spike_at=ONSET)
    first = fall_ill(run_id)
    assert clues(first).tried == ()
    train("mine", attempt=1, steps=(251, 400))
    again = fall_ill(run_id, step=340, attempt=1)
    assert (clues(first).tried, clues(again).tried) == ((251,), (251,))


def test_an_illness_long_after_a_rollback_is_another_one():
    run_id = train("mine", spike_at=ONSET)
    first = fall_ill(run_id)
    train("mine", attempt=1, steps=(251, 1_500))
    later = fall_ill(run_id, step=1_400, attempt=1)
    assert (clues(first).tried, clues(later).tried) == ((), ())


def test_the_clues_of_what_is_over_are_kept_until_it_is_open_again(django_assert_num_queries):
    run_id = train("mine", spike_at=ONSET)
    incident = fall_ill(run_id)
    looked_up = clues(incident)
    acting.resolve(run_id, incident.id, Resolution.MANUAL, at(400))
    over = store.get(incident.id)
    findings = store.findings(run_id, incident.id)
    with django_assert_num_queries(1):
        assert clues_of(over, findings) == looked_up
    train("twin", spike_at=ONSET)
    assert clues(over).passages == ()
    clue_store.forget(run_id, incident.id)
    assert told_of(clues(over)) == [("run twin", True, None)]


def test_looking_up_costs_a_bounded_number_of_statements(django_assert_max_num_queries):
    for number in range(12):
        train(f"sibling {number}", seed=0)
    incident = fall_ill(train("mine", spike_at=ONSET, seed=0))
    findings = store.findings(incident.run_id, incident.id)
    with django_assert_max_num_queries(45):
        assert len(clues_of(incident, findings).passages) == 5
