"""metrics.siblings: chosen by a person, judged with new rows."""

import numpy as np
import pytest

from apps.accounts.records import SYSTEM, Actor
from apps.accounts.services import Forbidden
from apps.accounts.store import audit_rows
from apps.core.errors import AppError, Conflict
from apps.metrics import planned, siblings, store
from apps.metrics.domain.planned import PlannedChange
from apps.metrics.services import detect
from apps.metrics.store import Reference, SiblingSet
from apps.runs import store as runs
from tests.metric_samples import T0_NS, S
from tests.sibling_samples import STEPS, add, logged, losses

pytestmark = pytest.mark.django_db
EVE = Actor("user", "eve", frozenset({"read"}))


@pytest.fixture
def elders():
    return [logged(f"elder-{n}", losses(level, n)) for n, level in enumerate((0.0, 0.12, -0.08))]


def choose(run, elders, version=0, actor=SYSTEM, **given):
    references = tuple(Reference(one) if isinstance(one, int) else one for one in elders)
    asked = SiblingSet(references, given.pop("total_steps", STEPS), version=version)
    return siblings.choose(run, asked, actor, reason="same recipe", now_ns=5)


def risen(since=1_000, by=0.3):
    values = losses(0.05, 9)
    values[since:] += by
    return values


def band(findings):
    return [f for f in findings if f.kind == "band_departure"]


def test_a_departure_is_a_warning_with_what_was_expected(elders):
    run = logged("young", risen())
    choose(run, elders)
    (found,) = band(detect(run, 0, 0))
    assert (found.key, found.severity, found.onset_step) == ("band:a0:s1000", "warn", 1_000)
    assert found.onset_time_ns == T0_NS + 1_004 * S
    assert found.facts["value"] - found.facts["before"] > found.facts["width"]
    assert "leaves the band of 3 siblings at step 1,000" in found.title
    assert detect(run, 0, 0) == []


@pytest.mark.parametrize(("flush", "told_open"), [(137, True), (500, False)])
def test_it_is_told_the_same_however_the_rows_come(elders, flush, told_open):
    values = risen()
    run = logged("young", values[:1])
    choose(run, elders)
    told = []
    for start in range(1, len(values), flush):
        add(run, values[start : start + flush], first_step=start)
        told += band(detect(run, 0, 0))
    assert [(f.onset_step, f.closed_step) for f in told] == [
        *([(1_000, None)] if told_open else []), (1_000, 1_304),
    ]  # fmt: skip


def test_a_healthy_sibling_is_left_in_peace(elders):
    run = logged("young", losses(0.05, 9))
    choose(run, elders)
    assert band(detect(run, 0, 0)) == []
    shown = siblings.shown(run, 0, store.siblings_of(run))
    assert (shown.done, shown.compared, shown.total_steps) == (400, 3, STEPS)
    assert np.nanmax(np.abs(shown.own - shown.center)[30:] / shown.width[30:]) < 2


def test_a_planned_change_explains_it(elders):
    run = logged("young", risen())
    change = PlannedChange("data", 900, 1_100, "more code", "person")
    planned.add(run, change, SYSTEM, 5)
    choose(run, elders)
    (found,) = band(detect(run, 0, 0))
    assert (found.severity, found.facts["planned"]) == ("info", change.words)


def test_with_other_references_what_no_longer_holds_is_taken_back(elders):
    run = logged("young", risen()[:1_200])
    choose(run, elders)
    (opened,) = band(detect(run, 0, 0))
    choose(run, [], version=1)
    (back,) = [f for f in detect(run, 0, 0) if f.key == opened.key]
    assert (back.severity, back.closed_step is None) == ("info", False)
    assert "taken back: other runs are compared with" in back.title
    assert siblings.shown(run, 0, store.siblings_of(run)) is None


def test_an_earlier_attempt_may_be_the_reference():
    run = logged("young", losses(0.0, 1))
    runs.open_attempt(run, 1, T0_NS)
    add(run, risen(), attempt=1)
    choose(run, [Reference(run, attempt=0)])
    assert [f.onset_step for f in band(detect(run, 1, 0))] == [1_000]


def test_a_reference_that_still_runs_is_read_again():
    elder = logged("elder", losses(0.0, 1)[:600])
    run = logged("young", risen()[:500])
    choose(run, [elder])
    detect(run, 0, 0)
    add(elder, losses(0.0, 1)[600:], first_step=600)
    add(run, risen()[500:], first_step=500)
    assert [f.onset_step for f in band(detect(run, 0, 0))] == [1_000]


def test_what_cannot_be_compared_with_says_why(elders):
    run = logged("young", losses())
    endless = logged("endless", losses(), config={"lr": 1})
    choose(run, [*elders, endless])
    (first, *_, last) = siblings.known(store.siblings_of(run)).curves
    assert (first.complete, first.why_not) == (True, "")
    assert last.why_not == "nobody says how many steps its schedule has"


def test_the_choice_is_audited_and_nobody_overwrites_another(elders):
    run = logged("young", losses())
    assert choose(run, elders) == 0
    (row,) = audit_rows(5)
    assert (row.action, row.reason, len(row.after["references"])) == (
        "siblings.chosen", "same recipe", 3,
    )  # fmt: skip
    with pytest.raises(Conflict, match="lastgood chose others meanwhile"):
        choose(run, elders)
    with pytest.raises(Forbidden):
        choose(run, elders, version=1, actor=EVE)


@pytest.mark.parametrize("given", ["itself", "twice", "many", "endless"])
def test_what_makes_no_sense_is_refused(elders, given):
    run = logged("young", losses())
    chosen = {"itself": [run], "twice": elders[:1] * 2, "endless": elders,
              "many": [Reference(elders[0], n) for n in range(9)]}[given]  # fmt: skip
    with pytest.raises(AppError):
        choose(run, chosen, total_steps=0 if given == "endless" else STEPS)
    assert store.siblings_of(run) is None
