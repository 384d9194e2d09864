"""ingest.watch with storage roots: from readings to incidents."""

from dataclasses import replace

import pytest

from apps.accounts.records import SYSTEM
from apps.checkpoints import roots, roots_store, services, watching
from apps.checkpoints.root_records import Beside, Look, Outcome, RootRule
from apps.checkpoints.storage import places
from apps.core.records import CheckpointSeen
from apps.incidents import store
from apps.ingest import watch
from tests.watching import a_run, at, rows, told

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("valkey")]
GIB = 2**30


@pytest.fixture
def run_id():
    return a_run()


@pytest.fixture
def root(settings, run_id):
    settings.CHECKPOINT_ROOTS = (places.parse("/ckpt"),)
    return roots.add(RootRule("/ckpt/boat", run_id, "", "", 300), SYSTEM, at(0))


def save(run_id, step, **files):
    """One of a GiB, every 100 steps of two seconds."""
    inventory = {".metadata": 10, "__0_0.distcp": GIB} | files
    seen = CheckpointSeen(step, f"/ckpt/boat/step-{step}", at(2 * step), 5.0, inventory)
    services.record(run_id, 0, [seen])


def look(root_id, seconds, *, next_s=None, **found):
    """What a storage worker found then."""
    seen = replace(Look(at(seconds), files=10, total_bytes=100 * GIB, free_bytes=50 * GIB), **found)
    roots_store.finish(root_id, seen, at(next_s or seconds + 300))


def talk(run_id, seconds):
    rows(run_id, seconds)
    return watch.look(at(seconds + 1))


def kinds(run_id):
    return {f.kind: f for f in store.findings(run_id) if f.closed_time_ns is None}


def test_a_storage_that_fills_up_pages_before_the_save_and_closes_once_there_is_room(run_id, root):
    for step in (100, 200, 300, 400):
        save(run_id, step)
    look(root, 250, next_s=900)
    assert talk(run_id, 890) == 0
    look(root, 900, free_bytes=GIB // 2)
    assert talk(run_id, 910) == 1
    found = kinds(run_id)["storage_full"]
    assert (found.severity.value, found.title) == (
        "page", "the next save needs 1.0 GiB, 512 MiB will be free",
    )  # fmt: skip
    assert told(run_id) == [("storage_full", "open")]
    assert talk(run_id, 920) == 0
    look(root, 925, free_bytes=80 * GIB)
    assert talk(run_id, 930) == 1
    assert told(run_id) == [("storage_full", "resolved")]


def test_a_damaged_rotation_pages_that_too_few_are_left(run_id):
    for step in (100, 200):
        save(run_id, step)
    assert talk(run_id, 410) == 0
    services.vanished(run_id, (0, 200), "/ckpt/boat/step-200", at_ns=at(415))
    assert talk(run_id, 420) == 1
    found = kinds(run_id)
    assert set(found) == {"checkpoints_few", "checkpoint_lost"}
    assert found["checkpoints_few"].title == "only one complete checkpoint is left, of step 100"
    assert [state for _, state in told(run_id)] == ["open"]
    for step in (300, 400):
        save(run_id, step)
    assert talk(run_id, 810) == 1
    assert [state for _, state in told(run_id)] == ["resolved"]


def test_a_pointer_that_leads_nowhere_is_told_of_its_own_run_only(run_id, root):
    other = a_run("ship")
    for key in (run_id, other):
        for step in (100, 200):
            save(key, step)
    wrong = Beside("", "STALE_LATEST", "latest names global_step9: not there", True, run_id)
    look(root, 560, beside=[wrong])
    talk(run_id, 570)
    talk(other, 571)
    assert (set(kinds(run_id)), set(kinds(other))) == ({"pointer_wrong"}, set())


def test_a_root_that_fails_or_is_looked_at_by_nobody_is_said(run_id, root):
    for step in (100, 200):
        save(run_id, step)
    look(root, 405, outcome=Outcome.FAILED, message="/ckpt/boat: permission denied")
    talk(run_id, 410)
    assert kinds(run_id)["storage_unseen"].evidence[0].text == "/ckpt/boat: permission denied"
    look(root, 415)
    talk(run_id, 420)
    assert kinds(run_id) == {}
    talk(run_id, 1_000)
    assert "no storage worker" in kinds(run_id)["storage_unseen"].evidence[0].text


def test_a_bucket_that_is_mounted_as_a_folder_is_explained_and_wakes_nobody(run_id, root):
    for step in (100, 200):
        save(run_id, step)
    look(root, 405, kind="bucket_mount", mount_type="fuse.gcsfuse")
    talk(run_id, 410)
    found = kinds(run_id)["storage_risky"]
    assert (found.severity.value, told(run_id)) == ("info", [])
    assert "a rename there copies and deletes" in found.evidence[0].text


def test_a_look_at_all_storage_costs_two_statements(run_id, root, django_assert_num_queries):
    other = a_run("ship")
    for key in (run_id, other):
        save(key, 100)
    with django_assert_num_queries(2):
        found = watching.storage_of([run_id, other], at(0))
    assert [len(found[key].folders) for key in (run_id, other)] == [1, 1]
    with django_assert_num_queries(1):
        assert watching.storage_of([run_id + 999], at(0)) == {}
