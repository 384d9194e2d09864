"""metrics.services.detect with placements: how many ranks there are, and who has come."""

import pytest
from django.utils import timezone

from apps.metrics import store
from apps.metrics.services import RANKS, detect
from apps.metrics.store.detectors import DetectorState
from apps.runs import store as runs
from apps.runs.records import PlacementInfo, Progress
from tests.metric_samples import T0_NS, recorded_rank_rows

pytestmark = pytest.mark.django_db


@pytest.fixture
def run():
    run_id = runs.ensure_run("sdc")
    runs.open_attempt(run_id, 0, T0_NS)
    runs.record_placements(run_id, 0, [PlacementInfo(r, "gpu-b02", r % 4) for r in range(8)])
    return run_id


def write(run, wanted):
    rows = [row for row in recorded_rank_rows("sdc_rollback") if row.rank in wanted]
    store.write_rows(run, 0, rows, source="logs")
    return detect(run, 0, 0)


def test_three_ranks_judge_nobody_four_of_eight_do_and_eight_are_quoted(run):
    assert write(run, {5, 6, 7}) == []
    (first,) = write(run, {4})
    (second,) = write(run, {0, 1, 2, 3})

    assert [(f.rank, f.page, f.onset_step) for f in (first, second)] == [(5, True, 710)] * 2
    assert "the other 3 ranks that have come so far (of 7)" in first.evidence[0].text
    assert "the other 7 ranks have the median" in second.evidence[0].text
    assert first.key == second.key


def test_a_host_that_is_behind_costs_only_its_own_steps(run, monkeypatch):
    write(run, {0, 1, 2, 3})
    read, asked = store.read_rank_rows, []
    monkeypatch.setattr(
        store, "read_rank_rows", lambda *where: asked.append(where[-2:]) or read(*where)
    )
    late = [r for r in recorded_rank_rows("sdc_rollback") if r.rank == 5 and 700 <= r.step <= 720]
    store.write_rows(run, 0, late, source="logs")
    detect(run, 0, 0)
    assert asked == [(700, 720)]


def test_a_state_of_another_version_is_begun_anew(run, caplog):
    store.lock_detector(run, 0, RANKS)
    store.save_detector(run, 0, RANKS, DetectorState(1, b"\x81\xa7version\x01"))
    (found,) = write(run, set(range(8)))
    assert (found.rank, caplog.records[0].message) == (5, "metrics.detector_state_refused")


def test_the_world_size_counts_when_placements_are_missing(run):
    other = runs.ensure_run("without-placements")
    runs.open_attempt(other, 0, T0_NS)
    assert (runs.rank_count(run, 0), runs.rank_count(other, 0)) == (8, 0)
    runs.note_progress(other, 0, Progress(world_size=16), timezone.now())
    assert runs.rank_count(other, 0) == 16
