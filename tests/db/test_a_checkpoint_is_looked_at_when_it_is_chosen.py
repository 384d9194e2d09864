"""checkpoints.looking over real folders, and what an order makes of it."""

import shutil
import threading

import pytest

from apps.accounts.records import SYSTEM
from apps.checkpoints import looking, roots, scanning, store
from apps.checkpoints.looking import Seen, Sight
from apps.checkpoints.root_records import RootRule
from apps.checkpoints.storage import places
from apps.core.clock import now_ns
from apps.core.errors import Refused
from apps.rollbacks import services
from apps.rollbacks import store as orders
from apps.runs import store as runs
from tests import rollback_story
from tests.ckpt_trees import lay
from tests.rollback_story import ADA, asked

pytestmark = pytest.mark.django_db


@pytest.fixture
def disk(tmp_path, settings):
    settings.CHECKPOINT_ROOTS = (places.parse(str(tmp_path)),)
    return tmp_path


@pytest.fixture
def run_id(disk):
    """A run with a scanned checkpoint of step 100."""
    found = runs.ensure_run("r")
    lay(disk / "step-100")
    root = roots.add(RootRule(str(disk), found, "", "", 300), SYSTEM, now_ns())
    scanning.scan(root)
    return found


def known(run_id):
    return store.checkpoints(run_id)[0]


def test_what_is_as_it_was_committed_is_whole(run_id):
    seen = looking.look(run_id, known(run_id))
    assert seen.sight is Sight.WHOLE
    assert seen.words.startswith("looked at just now: headers verified, ")


def test_a_marker_that_went_away_is_noticed_and_registered(run_id, disk):
    (disk / "step-100" / ".metadata").unlink()
    assert looking.look(run_id, known(run_id)).sight is Sight.DAMAGED
    assert not known(run_id).complete


def test_a_folder_that_is_not_there_is_told_and_not_taken_for_lost(run_id, disk):
    shutil.rmtree(disk / "step-100")
    seen = looking.look(run_id, known(run_id))
    assert seen.sight is Sight.MISSING
    assert seen.words.startswith("it is not there (")
    assert known(run_id).complete


def test_without_a_root_nobody_looks(run_id, disk):
    other = runs.ensure_run("other")
    seen = looking.look_now(other, known(run_id))
    assert (seen.sight, seen.asked) == (Sight.UNKNOWN, False)


def test_the_worker_leaves_its_answer_for_whoever_waits(run_id, valkey, monkeypatch):
    def at_once(job, *args):
        looking.answer(*args)

    monkeypatch.setattr(looking, "enqueue", at_once)
    assert looking.look_now(run_id, known(run_id)).sight is Sight.WHOLE


def test_a_worker_that_does_not_answer_is_told(run_id, valkey):
    seen = looking.look_now(run_id, known(run_id), wait_s=1)
    assert (seen.sight, seen.asked) == (Sight.UNKNOWN, True)
    assert seen.words == "the storage worker did not answer within 1 s, so nobody looked at it now"


def test_a_process_waits_for_few_looks_at_once(run_id, monkeypatch):
    monkeypatch.setattr(looking, "_slots", threading.BoundedSemaphore(1))
    looking._slots.acquire()
    seen = looking.look_now(run_id, known(run_id))
    assert (seen.sight, seen.words[:20]) == (Sight.UNKNOWN, "others wait for look")


@pytest.fixture
def missing(monkeypatch):
    seen = Seen(Sight.MISSING, "it is not there")
    monkeypatch.setattr(looking, "look_now", lambda run_id, known: seen)


def test_what_is_not_there_is_not_ordered_unless_forced(missing):
    incident = rollback_story.explode()
    with pytest.raises(Refused, match="was looked at just now: it is not there"):
        services.request(asked())
    assert orders.orders(incident.run_id) == []
    order = services.request(asked(force=True))
    notes = [e.why for e in orders.events(incident.run_id, order.id) if e.act == "note"]
    assert notes == ["it is not there"]
    assert order.actor == ADA.name
