"""Rotations of frameworks are faster than looks: what went between two of them was never seen."""

import pytest

from apps.accounts.records import SYSTEM
from apps.checkpoints import roots, roots_store, scanning, services, store
from apps.checkpoints.root_records import RootRule
from apps.checkpoints.storage import places
from apps.core.clock import now_ns
from apps.core.records import CheckpointSeen
from apps.runs import store as runs
from tests.ckpt_trees import answers_here, dcp_files, lay

pytestmark = pytest.mark.django_db
HOUR = 3_600 * 10**9


@pytest.fixture
def disk(tmp_path, settings, monkeypatch):
    """A folder that may be looked at."""
    monkeypatch.setattr(scanning, "answers", answers_here)
    settings.CHECKPOINT_ROOTS = (places.parse(str(tmp_path)),)
    return tmp_path


def announce(disk, *steps, ago_ns=HOUR):
    run_id = runs.ensure_run("r")
    files = {name: len(content) for name, content in dcp_files().items()}
    for step in steps:
        seen = CheckpointSeen(step, str(disk / f"step-{step}"), now_ns() - ago_ns, 1.0, files)
        services.record(run_id, 0, [seen])
    return run_id


def look(disk, run_id):
    root_id = roots.add(RootRule(str(disk), run_id, "", "", 300), SYSTEM, now_ns())
    roots_store.hurry(root_id, now_ns())
    scanning.scan(root_id)
    return {info.step: info.state.value for info in store.checkpoints(run_id)}


def test_what_a_rotation_took_before_the_first_look_is_deleted(disk):
    run_id = announce(disk, 100, 200, 300, 400)
    for step in (300, 400):
        lay(disk / f"step-{step}")
    found = look(disk, run_id)
    assert found == {100: "deleted", 200: "deleted", 300: "verified", 400: "verified"}


def test_what_was_announced_just_now_is_waited_for(disk):
    run_id = announce(disk, 100, 200)
    announce(disk, 300, ago_ns=60 * 10**9)
    for step in (100, 200):
        lay(disk / f"step-{step}")
    assert look(disk, run_id)[300] == "committed"


def test_where_no_announced_one_was_found_paths_may_mean_something_else(disk):
    run_id = announce(disk, 100, 200)
    lay(disk / "step-300")
    assert look(disk, run_id) == {100: "committed", 200: "committed", 300: "verified"}
