"""logs.domain.first_failure on recorded runs (8 ranks on 2 nodes, one H200)."""

import pytest

from tests.failure_cases import (
    all_files,
    console_only,
    rank_files_only,
    recorded,
    verdict_of,
)


@pytest.mark.parametrize(
    ("run", "rank", "node", "fault_class"),
    [
        ("hang_r5", 5, "gpu-b02", "hang_no_error"),
        ("exc_r6", 6, "gpu-b02", "dataloader_worker"),
    ],
)
@pytest.mark.parametrize("choose", [all_files, console_only, rank_files_only])
def test_the_rank_is_named_from_any_of_its_sources(run, rank, node, fault_class, choose):
    verdict = verdict_of(choose(recorded(run)))
    first = verdict.suspects[0]
    assert (first.rank, first.node, first.fault_class) == (rank, node, fault_class)
    assert len(verdict.suspects) == 1
    assert verdict.confirmed


@pytest.mark.parametrize("run", ["hang_r5", "exc_r6"])
def test_torchruns_own_answer_is_shown_but_not_believed(run):
    verdict = verdict_of(all_files(recorded(run)))
    named = {e.rank for e in verdict.evidence if "names rank" in e.text}
    assert named - {verdict.suspects[0].rank}


@pytest.mark.parametrize("run", ["quiet", "badbatch", "sdc_rollback", "lrbump"])
def test_a_run_that_ended_or_was_stopped_is_no_failure(run):
    assert verdict_of(all_files(recorded(run))) is None


def test_the_hang_starts_when_the_rank_fell_silent():
    verdict = verdict_of(all_files(recorded("hang_r5")))
    last = [e for e in verdict.evidence if "waiting on shard" in e.text]
    assert last[0].time_ns == verdict.onset_ns
    assert verdict.onset_step == 110
