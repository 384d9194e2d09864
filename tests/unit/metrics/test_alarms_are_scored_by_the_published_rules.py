"""workers.benches.spike_score and the bench that uses it."""

from io import StringIO

import orjson
import pytest
from django.core.management import call_command

from workers.benches import spikes
from workers.benches.report import BenchOptions
from workers.benches.spike_score import Alarm, Label, score

PAGE = {"onset_step": 500, "recovery_step": 550, "severity": "page", "kind": "spike"}
NEVER = PAGE | {"recovery_step": None}
SHIFT = {"onset_step": 500, "severity": "info", "kind": "level-shift"}
OUTLIER = {"onset_step": 500, "severity": "info", "kind": "outlier"}


@pytest.mark.parametrize(
    ("events", "rows", "hits", "false"),
    [
        ([PAGE], [490], 1, 0),
        ([PAGE], [489], 0, 1),
        ([PAGE], [600], 1, 0),
        ([PAGE], [601], 0, 0),
        ([PAGE], [801], 0, 1),
        ([NEVER], [1_499], 1, 0),
        ([NEVER], [1_900], 0, 0),
        ([PAGE | {"uncertain": True}], [700], 0, 0),
        ([SHIFT], [900], 0, 0),
        ([OUTLIER], [500], 0, 1),
        ([], [100, 140, 190, 300], 0, 2),
        ([PAGE | {"fault_step": 300}], [320], 1, 0),
    ],
)
def test_hits_and_false_alarms(events, rows, hits, false):
    alarms = [Alarm(row, None, "spike") for row in rows]
    found = score({"x": (range(2_000), Label(events))}, {"x": alarms})
    assert (found.hits, found.false) == (hits, false)


def test_short_series_are_not_scored():
    assert score({"x": (range(149), Label([PAGE]))}, {}).figures()["incidents"] == 0


def test_the_bench_reads_a_folder_and_writes_its_alarms_as_json(tmp_path):
    lines = ["step,loss,grad_norm,lr,loss_scale"]
    lines += [f"{10 * row},{3.0 if row < 300 else 'nan'},0.5,," for row in range(400)]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    event = {"onset_step": 3_000, "recovery_step": None, "severity": "page", "kind": "nan"}
    labels = {"series": {"a": {"file": "a.csv", "events": [event]}}}
    (tmp_path / "labels.json").write_bytes(orjson.dumps(labels))

    call_command("bench", "spikes", data=tmp_path, json=tmp_path / "out.json", stdout=StringIO())
    report = spikes.run(BenchOptions(data=tmp_path))
    (alarm,) = orjson.loads((tmp_path / "out.json").read_bytes())["a"]

    assert (report.figures["precision"], report.figures["recall"]) == (1.0, 1.0)
    assert (alarm["row"], alarm["step"], alarm["onset_step"]) == (301, 3_010, 3_000)
    assert (alarm["kind"], alarm["page"]) == ("nonfinite", True)
