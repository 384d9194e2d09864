"""metrics.planned and the door to it: /api/v1/runs/KEY/planned."""

import pytest
from django.utils import timezone

from apps.accounts.records import Actor
from apps.accounts.services import Forbidden
from apps.accounts.store import audit_rows
from apps.core.errors import AppError, NotFound, Refused
from apps.ingest import planning
from apps.ingest import store as ingest
from apps.metrics import planned, services, store
from apps.metrics.domain.planned import PlannedChange
from apps.runs import store as runs
from apps.runs.records import Progress
from tests.metric_samples import T0_NS
from tests.sibling_samples import logged, losses

pytestmark = pytest.mark.django_db
ADA = Actor("user", "ada", frozenset({"read", "operate"}))
EVE = Actor("user", "eve", frozenset({"read"}))


def change(from_step=500, to_step=None, kind="batch_size", text="doubled"):
    return PlannedChange(kind, from_step, to_step, text, "person")


@pytest.fixture
def run():
    run_id = runs.ensure_run("planned")
    for number, (first, last) in enumerate([(0, 999), (400, 9_999)]):
        runs.open_attempt(run_id, number, T0_NS)
        seen = Progress(first_step=first, last_step=last)
        runs.note_progress(run_id, number, seen, timezone.now())
    return run_id


def test_what_was_said_counts_by_step_until_it_is_taken_back(run):
    late, _ = planned.add(run, change(800, 900), ADA, 7)
    early, _ = planned.add(run, change(100), ADA, 8)
    assert planned.planned_of(run) == (change(100), change(800, 900))
    assert (late.said_by, late.said_at_ns) == ("ada", 7)

    planned.remove(run, early.number, ADA, 9)
    assert planned.planned_of(run) == (change(800, 900),)
    assert [row.action for row in audit_rows(5)] == [
        "planned.removed", "planned.added", "planned.added",
    ]  # fmt: skip


def test_the_same_again_is_the_one_that_is_there(run):
    first, again = planned.add(run, change(text=" doubled "), ADA, 7)
    second, nothing = planned.add(run, change(), ADA, 8)
    assert (first, again, nothing) == (second, [0, 1], [])
    planned.remove(run, first.number, ADA, 9)
    _, nothing = planned.remove(run, first.number, ADA, 10)
    assert (nothing, len(audit_rows(5))) == ([], 2)


def test_a_number_is_never_used_twice(run):
    first, _ = planned.add(run, change(), ADA, 7)
    planned.remove(run, first.number, ADA, 8)
    second, _ = planned.add(run, change(), ADA, 9)
    assert (first.number, second.number) == (1, 2)


@pytest.mark.parametrize(
    ("asked", "again"),
    [
        (change(500), {0: 500, 1: 5_999}),
        (change(7_000), {1: 7_000}),
        (change(0, 300), {0: 0}),
        (change(20_000), {}),
    ],
)
def test_attempts_with_steps_in_it_are_judged_again_within_bounds(run, asked, again):
    planning.plan_change(run, asked, ADA, 7)
    fresh = {number: store.take_fresh(run, number).job_from for number in (0, 1)}
    assert {number: step for number, step in fresh.items() if step is not None} == again
    assert sorted(number for _, number in ingest.analysis_due(0)) == sorted(again)


@pytest.mark.parametrize(
    ("asked", "where"),
    [
        (change(kind="mood"), "kind"),
        (change(-1), "from_step"),
        (change(10, 9), "to_step"),
        (change(10, 2**60), "to_step"),
        (change(text="x" * 501), "text"),
        (change(text="a\0b"), "text"),
    ],
)
def test_what_makes_no_sense_is_refused(run, asked, where):
    with pytest.raises(AppError) as error:
        planned.add(run, asked, ADA, 7)
    assert (error.value.where, planned.planned_of(run)) == (where, ())


def test_a_run_has_a_bounded_number_of_them(run, monkeypatch):
    monkeypatch.setattr(store, "MAX_PLANNED", 1)
    planned.add(run, change(1), ADA, 7)
    with pytest.raises(Refused, match="at most 1 planned changes"):
        planned.add(run, change(2), ADA, 7)


def test_only_people_who_operate_may_say_it(run):
    with pytest.raises(Forbidden):
        planned.add(run, change(), EVE, 7)
    with pytest.raises(Forbidden):
        planned.remove(run, 1, EVE, 7)
    with pytest.raises(NotFound):
        planned.remove(run, 1, ADA, 7)


def test_what_is_open_inside_it_becomes_information_and_pages_again_once_it_is_taken_back():
    values = losses(steps=1_200)
    values[900:] += 0.5
    run = logged("shifted", values)
    (opened,) = [f for f in services.detect(run, 0, 0) if f.page]
    info, again = planned.add(run, change(900, 1_000), ADA, 7)
    judged = {f.key: f for f in services.detect(run, 0, 0)}
    assert (again, judged[opened.key].severity) == ([0], "info")
    assert "batch size" in judged[opened.key].facts["planned"]

    planned.remove(run, info.number, ADA, 8)
    assert [f.onset_step for f in services.detect(run, 0, 0) if f.page] == [900]
