"""The detectors on six real trainings, read from their own files."""

import pytest

from tests.metric_samples import findings, judged_ranks, local_losses, recorded_rows, train_rows


def judged(name, start=0):
    return list(findings(train_rows(recorded_rows(name, start))).values())


def test_the_learning_rate_bump_is_one_explosion_with_its_cause():
    (found,) = judged("lrbump")

    assert (found.kind, found.severity, found.onset_step) == ("explosion", "page", 1001)
    assert found.seen_step == 1002
    assert found.closed_step is None
    facts = found.facts
    assert (facts["lr_change_step"], round(facts["lr_after"] / facts["lr_before"])) == (1000, 40)


def test_silent_corruption_of_one_rank_is_a_level_shift():
    (found,) = judged("sdc_rollback")

    assert (found.kind, found.severity, found.onset_step) == ("level_shift", "page", 701)
    assert found.seen_step == 704
    assert found.closed_step is None


def test_bad_batches_are_an_outlier_that_nobody_is_called_for():
    (found,) = judged("badbatch")

    assert (found.kind, found.severity, found.onset_step) == ("outlier", "warn", 350)
    assert found.closed_step == 369


@pytest.mark.parametrize(
    ("name", "start"),
    [("quiet", 0), ("lrbump", 1), ("sdc_rollback", 1), ("hang_r5", 0), ("exc_r6", 0)],
)
def test_nothing_is_said_of_a_healthy_loss(name, start):
    assert judged(name, start) == []


def ranks_apart(name):
    return judged_ranks(local_losses(name), known_ranks=8)


def test_the_corrupted_rank_is_named_from_the_first_logged_step_on():
    (found,) = ranks_apart("sdc_rollback")

    assert (found.rank, found.severity, found.onset_step) == (5, "page", 710)
    assert found.facts["last_normal_step"] == 700


@pytest.mark.parametrize("name", ["badbatch", "hang_r5", "exc_r6"])
def test_no_healthy_rank_stands_apart(name):
    assert ranks_apart(name) == []
