"""TensorBoard events and rows of JSON-lines and CSV files: each once, in the right attempt."""

import orjson
import pytest

from apps.ingest import store
from apps.ingest.digest import digest
from apps.ingest.tensorboard.wire import read_records
from apps.metrics import store as metrics
from apps.runs import services as runs
from apps.runs import store as runs_store
from apps.runs.records import LaunchSeen
from tests.event_files import sample, scalar, version
from tests.factories import envelope
from tests.row_files import SEEN_NS, rows_body

pytestmark = pytest.mark.django_db

S = 1_000_000_000


@pytest.fixture
def run_id():
    return runs_store.ensure_run("r")


def send(run_id, endpoint, body):
    digest([envelope(endpoint, body, run_id=run_id)], quarantine=False)


def send_events(run_id, records, *, first=0, **changes):
    header = {
        "v": 1, "attempt": 0, "file": "tb/events.1", "part": "a", "first": first,
        "lengths": [len(record) for record in records],
    } | changes  # fmt: skip
    send(run_id, "tensorboard", orjson.dumps(header) + b"\n" + b"".join(records))


def points(run_id, key, attempt=0):
    steps, _, values = metrics.read_rows(run_id, attempt, [key])[key]
    return dict(zip(steps.tolist(), values.tolist(), strict=True)), len(steps)


def stored(run_id):
    return store.counters(run_id).get("points", 0)


def test_a_file_of_a_real_writer_is_in_the_tables(run_id):
    records = read_records(sample("tensorboard").read_bytes()).records
    send_events(run_id, records)
    found, _ = points(run_id, "train/loss")
    assert (found[0], found[1], found[4]) == (2.5, 2.25, 2.0)
    assert runs_store.get_run("r").config == {"lr": 0.0, "optimizer": "adamw", "fused": True}
    counters = store.counters(run_id)
    assert (counters["skipped: text"], counters["nonfinite_values"]) == (1, 2)


def test_events_in_another_batching_add_nothing(run_id):
    records = [version(), *(scalar(n, float(n)) for n in range(9))]
    send_events(run_id, records[:4])
    send_events(run_id, records[2:9], first=2)
    send_events(run_id, records)
    assert points(run_id, "train/loss")[0] == {n: float(n) for n in range(9)}
    assert stored(run_id) == 9
    assert store.counters(run_id)["repeated_lines"] == 2 + 9


def test_events_that_come_before_their_forerunners_fill_the_gap_later(run_id):
    records = [scalar(n, float(n)) for n in range(6)]
    send_events(run_id, records[4:], first=4)
    assert store.counters(run_id)["missing_lines"] == 4
    send_events(run_id, records[:4])
    assert points(run_id, "train/loss")[0] == {n: float(n) for n in range(6)}
    assert store.counters(run_id)["missing_lines"] == 0


def test_another_file_of_that_name_is_new(run_id):
    send_events(run_id, [scalar(1, 1.0)])
    send_events(run_id, [scalar(2, 2.0)], part="b")
    assert points(run_id, "train/loss")[0] == {1: 1.0, 2: 2.0}


def test_a_tag_with_an_axis_of_its_own_opens_no_attempt(run_id):
    send_events(run_id, [scalar(100, 1.0), scalar(1, 9.0, tag="val/acc", at_s=200)])
    assert [info.number for info in runs_store.attempts(run_id)] == [0]


def test_rows_in_another_batching_add_nothing(run_id):
    rows = [{"step": n, "loss": float(n)} for n in range(9)]
    send(run_id, "rows", rows_body(rows[:4]))
    send(run_id, "rows", rows_body(rows[1:], first=1))
    assert points(run_id, "loss")[0] == {n: float(n) for n in range(9)}
    assert (stored(run_id), store.counters(run_id)["rows_without_time"]) == (9, 9)


def test_a_lower_step_in_a_file_that_is_appended_to_opens_an_attempt(run_id):
    steps = [1, 2, 3, 4, 2, 3]
    send(run_id, "rows", rows_body([{"step": n, "loss": 1.0} for n in steps]))
    assert [points(run_id, "loss", attempt)[1] for attempt in (0, 1)] == [4, 2]


def test_an_evaluation_that_lags_behind_opens_no_attempt(run_id):
    rows = [{"step": 10, "loss": 1.0}, {"step": 5, "eval_loss": 2.0}, {"step": 11, "loss": 1.0}]
    send(run_id, "rows", rows_body(rows))
    assert [info.number for info in runs_store.attempts(run_id)] == [0]
    assert points(run_id, "eval_loss")[0] == {5: 2.0}


def test_a_row_belongs_to_the_attempt_that_ran_at_its_time(run_id):
    for number, at_s in enumerate((0, 1_000)):
        started_ns = SEEN_NS + at_s * S
        launch = LaunchSeen("torchrun:a", f"job/attempt_{number}", started_ns)
        assert runs.register_launch("r", launch) == number
    rows = [{"step": n, "loss": 1.0, "time_ns": SEEN_NS + n * 100 * S} for n in range(1, 10)]
    again = [{"step": n, "loss": 1.0, "time_ns": SEEN_NS + (n + 6) * 100 * S} for n in range(5, 8)]
    send(run_id, "rows", rows_body(rows + again))
    assert list(points(run_id, "loss", 0)[0]) == list(range(1, 10))
    assert list(points(run_id, "loss", 1)[0]) == [5, 6, 7]
    assert len(runs_store.attempts(run_id)) == 2


def test_a_csv_row_is_read_under_the_columns_of_its_time(run_id):
    csv = {"format": "csv", "file": "metrics.csv"}
    send(run_id, "rows", rows_body(["1,2.5\n"], columns="step,loss\n", **csv))
    send(run_id, "rows", rows_body(["0.5,2,2.25\n"], first=1, columns="lr,step,loss\n", **csv))
    assert points(run_id, "loss")[0] == {1: 2.5, 2: 2.25}
    assert points(run_id, "lr")[0] == {2: 0.5}
