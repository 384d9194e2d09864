"""A recorded learning rate that creeps up, from rows to the incident."""

import csv
import lzma
from pathlib import Path

import pytest

from apps.core.records import MetricRow
from apps.incidents import store
from apps.incidents.store import IncidentQuery
from tests import recorded
from tests.metric_samples import T0_NS, S
from tests.recorded import replay, start

pytestmark = pytest.mark.django_db
SAMPLE = Path(__file__).parents[1] / "samples" / "own_runs" / "slow_lr_ramp.csv.xz"


def rows():
    lines = csv.DictReader(lzma.decompress(SAMPLE.read_bytes()).decode().splitlines())
    for line in lines:
        step = int(line.pop("step"))
        yield MetricRow(step, T0_NS + step * S, {name: float(v) for name, v in line.items()})


def test_one_incident_warns_early_pages_later_and_begins_where_the_layers_did(monkeypatch):
    monkeypatch.setattr(recorded, "rank_files", lambda folder: [])
    monkeypatch.setattr(recorded, "recorded", lambda run: None)
    run_id = start("ramp")
    logged = list(rows())

    replay(run_id, logged[:640], 80)
    (early,) = store.list_incidents(IncidentQuery(run_id=run_id))
    assert (early.kind, early.page, early.onset_step) == ("layer_trend", False, 607)

    replay(run_id, logged[640:860], 80)
    (incident,) = store.list_incidents(IncidentQuery(run_id=run_id))
    assert (incident.id, incident.page, incident.onset_step) == (early.id, True, 607)
    signal, movers = incident.earliest_signal, store.movers(run_id, incident.id)
    assert (signal.series, signal.ahead_of) == ("update_norm", "loss")
    assert signal.lead_steps > 150
    assert movers.by_loss
    assert [m.series for m in movers.ahead][:1] == ["update_norm"]
    assert "act_rms_l1" in {m.series for m in movers.items}
