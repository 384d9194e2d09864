"""No body invents an attempt, and no sender fills the tables with attempts."""

import orjson
import pytest

from apps.core.errors import AppError
from apps.ingest import store
from apps.ingest.digest import digest
from apps.runs import services
from apps.runs import store as runs
from apps.runs.records import LaunchSeen
from tests.factories import T0_NS, envelope, log_body, metric_body

CHECKPOINT = {"ts": 1.0, "step": 1, "path": "p", "files": {}}
BODIES = [
    ("metrics", metric_body({1: 2.0}, attempt=7)),
    ("logs", log_body(b"x\n", attempt=7)),
    ("checkpoints", orjson.dumps({"attempt": 7, "events": [CHECKPOINT]})),
    ("wandb", b'{"v":1,"attempt":7,"file":"f","first_record":0,"lengths":[]}\n'),
]


@pytest.fixture
def run_id(db):
    return runs.ensure_run("r")


@pytest.mark.parametrize(("door", "body"), BODIES)
def test_an_attempt_nobody_announced_is_not_opened(run_id, door, body):
    assert digest([envelope(door, body, run_id=run_id)]).quarantined == 1
    (kept,) = store.quarantined(1)
    assert (kept.where, kept.reason) == ("attempt", "attempt 7 of this run was not announced")
    assert "launches" in kept.hint
    assert runs.attempts(run_id) == []


def test_a_run_that_nobody_announced_begins_with_attempt_0(run_id):
    assert digest([envelope("metrics", metric_body({1: 2.0}), run_id=run_id)]).written == 1
    assert [attempt.number for attempt in runs.attempts(run_id)] == [0]


def saw(times):
    """Rows that go back to step 0 so many times."""
    rows = [
        {"step": at % 2, "time_ns": T0_NS + at, "values": {"x": 1.0}} for at in range(2 * times + 2)
    ]
    return orjson.dumps({"rows": rows})


def test_a_body_that_goes_back_all_the_time_is_refused_whole(run_id):
    most = services.MAX_RESTARTS
    wild = digest([envelope("metrics", saw(most + 1), run_id=run_id)])
    assert (wild.quarantined, runs.attempts(run_id)) == (1, [])
    assert digest([envelope("metrics", saw(most), run_id=run_id)]).written == 1
    assert len(runs.attempts(run_id)) == most + 1


def test_a_flood_of_starts_ends_with_a_reason(run_id, monkeypatch):
    monkeypatch.setattr(runs, "MAX_ATTEMPTS", 3)
    starts = [LaunchSeen("s", f"l{n}", T0_NS) for n in range(4)]
    assert [services.register_launch("r", start) for start in starts[:3]] == [0, 1, 2]
    with pytest.raises(AppError, match="has 3 attempts already"):
        services.register_launch("r", starts[3])
    assert services.register_launch("r", starts[0]) == 0
