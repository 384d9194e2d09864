"""metrics.naming: what people say about names changes what detectors read."""

from dataclasses import replace

import pytest
from django.utils import timezone

from apps.accounts.records import SYSTEM
from apps.accounts.store import audit_rows
from apps.core.errors import AppError
from apps.core.records import MetricRow
from apps.ingest.writes import add_rows
from apps.metrics import naming, services, store
from apps.metrics.domain.layer_rules import Rule
from apps.metrics.domain.naming import Naming
from apps.runs import store as runs
from apps.runs.records import Progress
from tests.metric_samples import T0_NS, S, recorded_rank_rows, recorded_rows

pytestmark = pytest.mark.django_db
PROJECT = "llm"


@pytest.fixture
def run():
    run_id = runs.ensure_run("watched")
    runs.open_attempt(run_id, 0, T0_NS)
    runs.note_progress(run_id, 0, Progress(project=PROJECT), timezone.now())
    return run_id


def write(run, rows):
    store.write_rows(run, 0, rows, source="test")
    steps = [row.step for row in rows]
    seen = Progress(first_step=min(steps), last_step=max(steps))
    runs.note_progress(run, 0, seen, timezone.now())


def say(version=0, project=PROJECT, rules=(), **roles):
    return naming.save(project, Naming(roles, rules, version), SYSTEM, 5)


def renamed(rows):
    """The recorded rows with the loss under another name, and a calm series where it was."""
    return [
        MetricRow(row.step, row.time_ns, {"odd/objective": row.values["train/loss"],
                                          "train/loss": 2.0 + 0.01 * (row.step % 7)})
        for row in rows
    ]  # fmt: skip


def judged(run):
    """What is said of losses; statistics of layers have a test of their own."""
    return [f for f in services.detect(run, 0, 0) if f.kind != "layer_trend"]


def test_an_explosion_that_was_missed_is_found_once_its_series_is_named(run):
    write(run, renamed(recorded_rows("lrbump")))
    assert judged(run) == []

    assert say(loss="odd/objective") == [(run, 0)]
    (found,) = judged(run)
    assert (found.series, found.onset_step, found.page) == ("odd/objective", 1_001, True)
    assert judged(run) == []


def test_new_rows_of_a_named_series_alone_reach_the_detector(run):
    rows = recorded_rows("lrbump")
    say(loss="odd/objective")
    write(
        run, [MetricRow(r.step, r.time_ns, {"odd/objective": r.values["train/loss"]}) for r in rows]
    )
    assert [found.onset_step for found in judged(run)] == [1_001]


def test_what_only_the_old_series_said_is_taken_back(run):
    rows = recorded_rows("lrbump")
    write(run, [replace(r, values={"train/loss": r.values["train/loss"], "calm": 2.0})
                for r in rows])  # fmt: skip
    (opened,) = judged(run)
    say(loss="calm")
    (over,) = judged(run)

    assert (opened.page, over.key) == (True, opened.key)
    assert (over.severity, over.closed_step) == ("info", rows[-1].step)
    assert "train/loss is no longer watched" in over.title


def test_a_run_said_to_log_no_loss_is_left_in_peace(run):
    write(run, recorded_rows("lrbump"))
    (opened,) = judged(run)
    say(loss=None)
    assert [f.key for f in judged(run)] == [opened.key]
    write(run, [MetricRow(5_000, T0_NS + 5_000 * S, {"train/loss": float("nan")})])
    assert judged(run) == []


def test_going_back_to_the_guess_finds_the_same_again(run):
    write(run, recorded_rows("lrbump"))
    (first,) = judged(run)
    say(loss=None)
    judged(run)
    say(version=1)
    (again,) = judged(run)
    assert (again.key, again.severity, again.closed_step) == (first.key, first.severity, None)


def test_a_name_that_a_run_does_not_log_leaves_its_guess(run):
    write(run, recorded_rows("quiet")[:50])
    say(loss="of/another/framework")
    assert naming.roles_of(run).loss == "train/loss"


def test_the_losses_of_the_ranks_can_be_named(run):
    rows = [MetricRow(r.step, r.time_ns, {"mine": r.values["rank/local_loss"]}, r.rank)
            for r in recorded_rank_rows("sdc_rollback")]  # fmt: skip
    store.write_rows(run, 0, rows, source="test")
    assert judged(run) == []
    say(rank_loss="mine")
    store.note_again(run, 0, 0)
    assert {f.rank for f in judged(run) if f.page} == {5}

    say(version=1, rank_loss=None)
    store.note_again(run, 0, 0)
    back = judged(run)
    assert {(f.rank, f.severity) for f in back} == {(5, "info")}
    assert all("no longer the loss of the ranks" in f.title for f in back)


def test_two_people_at_once_do_not_overwrite_each_other(run):
    say(loss="a")
    with pytest.raises(naming.Overtaken, match="changed these names meanwhile"):
        say(loss="b")
    assert store.naming_of(PROJECT).roles == {"loss": "a"}


def test_a_change_is_audited_and_a_repeat_is_none(run):
    rule = Rule("{any}/blk{layer}", "act_max")
    say(lr="speed", rules=(rule,))
    assert say(version=1, lr="speed", rules=(rule,)) == []

    (row,) = audit_rows(5)
    assert (row.action, row.object) == ("names.changed", "project llm")
    assert row.after == {"roles": {"lr": "speed"}, "rules": ["{any}/blk{layer} = act_max"]}
    assert store.naming_of(PROJECT) == Naming({"lr": "speed"}, (rule,), 1, 5, SYSTEM.name)


@pytest.mark.parametrize(
    ("roles", "rules", "where"),
    [
        ({"speed": "x"}, (), "roles"),
        ({"loss": ""}, (), "roles.loss"),
        ({"loss": "x" * 501}, (), "roles.loss"),
        ({"loss": "a\0b"}, (), "roles.loss"),
        ({}, (Rule("{layer}", "nope"),), r"rules\[0\].statistic"),
        ({}, (Rule("a\0{layer}", "act_max"),), r"rules\[0\].pattern"),
        ({}, (Rule("{layer}", "act_max"),) * 51, "rules"),
    ],
)
def test_what_makes_no_sense_is_refused_and_changes_nothing(roles, rules, where):
    with pytest.raises(AppError, match=where):
        say(rules=rules, **roles)
    assert store.naming_of(PROJECT) == Naming()


def test_another_project_is_not_concerned(run):
    say(project="other", loss="odd")
    assert naming.roles_of(run).loss is None
    write(run, recorded_rows("quiet")[:10])
    assert naming.roles_of(run).loss == "train/loss"


def test_rows_arrive_at_the_step_that_is_named(run):
    say(step_axis="train/global_step")
    rows = [MetricRow(n, T0_NS + n * S, {"train/loss": 2.0, "train/global_step": 10.0 * n})
            for n in range(1, 5)]  # fmt: skip
    add_rows(run, 0, rows, source="wandb")
    step, _, _ = store.read_rows(run, 0, ["train/loss"])["train/loss"]
    assert step.tolist() == [10, 20, 30, 40]
    assert runs.attempt(run, 0).last_step == 40
