"""metrics.trends, by services.detect."""

import numpy as np
import pytest

from apps.accounts.records import Actor
from apps.core.records import MetricRow
from apps.incidents import services as incidents
from apps.incidents import store as incident_store
from apps.incidents.store import IncidentQuery
from apps.metrics import naming, planned, store
from apps.metrics.domain.layer_rules import Rule
from apps.metrics.domain.naming import Naming
from apps.metrics.domain.planned import PlannedChange
from apps.metrics.services import detect
from apps.runs import store as runs
from tests.metric_samples import T0_NS, S, recorded_rows

pytestmark = pytest.mark.django_db
SOMEBODY = Actor("user", "anna", frozenset({"read", "operate", "admin"}))


@pytest.fixture
def run():
    run_id = runs.ensure_run("layered")
    runs.open_attempt(run_id, 0, T0_NS)
    return run_id


def layered(first, last, *, seed=0, moved=None, name="grad_norm/layers.{}", layers=4):
    """Rows with statistics of layers and a healthy loss. moved: layer -> (first step, factor)."""
    rng = np.random.default_rng([seed, first])
    rows = []
    for step in range(first, last):
        values = {"train/loss": 2.0 + 0.05 * rng.standard_normal()}
        for n in range(layers):
            since, factor = (moved or {}).get(n, (last, 1.0))
            usual = 1 + 0.05 * rng.standard_normal()
            values[name.format(n)] = usual * (factor if step >= since else 1.0)
        rows.append(MetricRow(step, T0_NS + step * S, values))
    return rows


def fed(run, rows, *, attempt=0, flush=50):
    """Newest state of the findings about layers, oldest first."""
    found = {}
    for start in range(0, len(rows), flush):
        store.write_rows(run, attempt, rows[start : start + flush], source="test")
        found |= {f.key: f for f in detect(run, attempt, 0) if f.kind == "layer_trend"}
    return list(found.values())


@pytest.mark.parametrize("flush", [16, 7_000])
def test_a_recorded_explosion_is_one_warning_that_ends_however_it_is_cut(run, flush):
    (found,) = fed(run, recorded_rows("lrbump"), flush=flush)
    assert (found.key, found.severity, found.onset_step) == ("trend:a0:s1001", "warn", 1001)
    assert (found.series, found.closed_step) == ("grad_norm/head", 1245)
    assert found.facts["moved"] == 25
    assert found.title.startswith("head, grad norm left its band at step 1,001 (0.166 -> 3.07); 24")


@pytest.mark.parametrize("name", ["quiet", "badbatch", "sdc_rollback"])
def test_recorded_runs_without_a_lasting_move_are_quiet(run, name):
    assert fed(run, recorded_rows(name), flush=400) == []


def test_the_first_of_many_is_named_and_the_others_are_counted(run):
    (found,) = fed(run, layered(0, 500, moved={2: (400, 9.0), 1: (405, 9.0), 3: (420, 3.0)}))
    assert (found.onset_step, found.facts["layer"]) == (400, "layer 2")
    assert [m["step"] for m in found.facts["movers"]] == [400, 405, 420]
    assert found.title.endswith("; 2 more series moved")
    assert found.facts["watched"] == 4


def test_a_warning_opens_an_incident_that_pages_nobody_and_ends_by_itself(run):
    found = fed(run, layered(0, 450, moved={2: (400, 9.0)}))
    incidents.absorb(run, 0, found, T0_NS)
    (incident,) = incident_store.list_incidents(IncidentQuery(run_id=run))
    assert (incident.kind, incident.page, incident.onset_step) == ("layer_trend", False, 400)
    assert incident.title == "Layer 2, grad norm 0.99 -> 8.28 since step 400"

    found = fed(run, layered(450, 520))
    incidents.absorb(run, 0, found, T0_NS)
    (incident,) = incident_store.list_incidents(IncidentQuery(run_id=run))
    assert (incident.state, incident.resolution) == ("resolved", "closed")


def test_statistics_in_rows_of_their_own_are_watched_too(run):
    rows = layered(0, 500, moved={0: (400, 9.0)})
    bare = [MetricRow(r.step, r.time_ns, {k: v for k, v in r.values.items() if "/l" in k})
            for r in rows]  # fmt: skip
    losses = [MetricRow(r.step, r.time_ns, {"train/loss": r.values["train/loss"]}) for r in rows]
    assert fed(run, losses) == []
    assert [f.onset_step for f in fed(run, bare)] == [400]


def test_what_somebody_planned_is_information(run):
    change = PlannedChange("learning_rate", 395, None, "warm restart", "person")
    rows = layered(0, 600, moved={0: (400, 9.0)})
    (early,) = fed(run, rows[:450])
    planned.add(run, change, SOMEBODY, T0_NS)
    (late,) = fed(run, rows[450:460])
    assert (early.severity, late.severity) == ("warn", "info")
    assert late.facts["planned"] == change.words


def test_a_new_attempt_knows_what_was_normal_before_its_fork(run):
    fed(run, layered(0, 450, moved={0: (400, 9.0)}))
    runs.open_attempt(run, 1, T0_NS)
    assert fed(run, layered(390, 460, seed=1), attempt=1) == []
    (found,) = fed(run, layered(460, 500, moved={1: (460, 9.0)}), attempt=1)
    assert (found.key, found.onset_step) == ("trend:a1:s460", 460)


def test_compaction_in_between_changes_nothing(run):
    rows = layered(0, 500, moved={0: (400, 9.0)})
    fed(run, rows[:390])
    while store.compact_once(run, everything=True):
        pass
    assert [f.onset_step for f in fed(run, rows[390:])] == [400]


def test_a_name_that_only_a_rule_of_the_project_reads_is_watched(run):
    rows = layered(0, 500, moved={0: (400, 9.0)}, name="dbg;{};gn")
    asked = Naming({}, (Rule("dbg;{layer};gn", "grad_norm"),))
    naming.save("", asked, SOMEBODY, T0_NS)
    assert [f.facts["layer"] for f in fed(run, rows)] == ["layer 0"]


def test_other_words_about_names_end_what_the_old_ones_opened(run):
    (opened,) = fed(run, layered(0, 450, moved={0: (400, 9.0)}))
    naming.save("", Naming({}, (Rule("x/{layer}", "grad_norm"),)), SOMEBODY, T0_NS)
    found = fed(run, layered(450, 460, moved={0: (400, 9.0)}))
    assert [(f.key, f.closed_step) for f in found] == [(opened.key, 459)]
