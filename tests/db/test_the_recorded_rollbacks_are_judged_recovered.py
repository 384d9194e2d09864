import json

import pytest
from django.utils import timezone

from apps.checkpoints import services as checkpoints
from apps.core.records import CheckpointSeen, Finding, FindingSeverity
from apps.incidents import services as incidents
from apps.incidents import store as incident_store
from apps.ingest.wandb.parse import decode, read_records
from apps.metrics import store as metrics
from apps.rollbacks import services
from apps.runs import services as run_services
from apps.runs import store as runs
from apps.runs.records import LaunchSeen, Progress
from workers.demo import recordings

pytestmark = pytest.mark.django_db
NOW = 1_800_000_000_000_000_000


def _rows(path):
    return decode(read_records(path.read_bytes(), final=True).records, now_ns=NOW).rows


def _start(key, number, rows):
    """Registers one start, writes its rows; the run's id."""
    run_services.register_launch(key, LaunchSeen("wandb", str(number), rows[0].time_ns))
    run_id = runs.ensure_run(key)
    loss = [row for row in rows if "train/loss" in row.values]
    metrics.write_rows(run_id, number, loss, source="wandb")
    progress = Progress(loss[0].step, loss[-1].step, world_size=1)
    runs.note_progress(run_id, number, progress, timezone.now())
    return run_id


def _announce(folder, run_id, restart_ns):
    """The recorded checkpoints, each to the attempt that saved it."""
    lines = (folder / "checkpoint_events.jsonl").read_text().splitlines()
    events = [json.loads(line) for line in lines]
    seen = [
        CheckpointSeen(e["step"], e["path"], int(e["ts"] * 1e9), e["save_s"], e["files"])
        for e in events
    ]
    checkpoints.record(run_id, 0, [s for s in seen if s.saved_at_ns < restart_ns])
    checkpoints.record(run_id, 1, [s for s in seen if s.saved_at_ns >= restart_ns])


def _incident(run_id, kind, onset, time_ns):
    found = Finding(
        f"{kind}:{onset}", "spikes", kind, FindingSeverity.PAGE, 0, onset, time_ns, onset + 3,
        time_ns + 1, "the loss rose", "train/loss",
    )  # fmt: skip
    (change,) = incidents.absorb(run_id, 0, [found], time_ns + 2)
    return incident_store.get(change.incident_id)


@pytest.mark.parametrize(
    ("name", "kind", "onset", "first", "last_candidate"),
    [
        ("lrbump", "explosion", 1000, 750, 900),
        ("lrbump", "explosion", 1001, 750, 900),
        ("sdc_rollback", "level_shift", 701, 600, 700),
        ("sdc_rollback", "level_shift", 711, 600, 700),
    ],
)
def test_its_candidates_and_its_verdict(tmp_path, name, kind, onset, first, last_candidate):
    folder = recordings.unpack(name, tmp_path)
    before, after = (_rows(p) for p in sorted(folder.glob("wandb/*/run-*.wandb")))
    run_id = _start(name, 0, before)
    time_ns = next(row.time_ns for row in before if row.step == onset)
    incident = _incident(run_id, kind, onset, time_ns)
    _start(name, 1, after)
    _announce(folder, run_id, after[0].time_ns)

    found = services.candidates(run_id, incident)
    assert (found[0].step, found[0].attempt, found[0].eligible) == (first, 0, True)
    assert max(c.step for c in found) == last_candidate
    (change,) = services.watch(run_id, 1, NOW)
    assert (change.change, change.incident_id, change.resolves) == ("recovered", incident.id, True)
    assert incident_store.get(incident.id).resolution == "recovered"
