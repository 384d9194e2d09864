from dataclasses import replace

import pytest

from apps.checkpoints import services, store
from apps.core.queue import Job
from apps.core.records import CheckpointSeen
from apps.runs.store import ensure_run
from tests import ckpt_samples
from workers.tasks.checkpoints import recheck

pytestmark = pytest.mark.django_db


@pytest.fixture
def run_id():
    return ensure_run("levels")


@pytest.fixture
def sent(monkeypatch):
    """The jobs that were sent, instead of a broker."""
    jobs = []
    monkeypatch.setattr(services, "enqueue", lambda job, *args: jobs.append((job, args)))
    return jobs


def _seen(files=None, metadata=None):
    files = ckpt_samples.inventory() if files is None else files
    return CheckpointSeen(100, "/data/run/checkpoints/step-100", 1_000, 0.5, files, metadata)


def test_the_content_is_kept_and_its_check_enqueued(run_id, sent):
    services.record(run_id, 0, [_seen(metadata=ckpt_samples.metadata())])
    assert sent == [(Job.CHECKPOINTS_VERIFY, (run_id, 0, 100))]
    assert store.metadata(run_id, 0, 100) == ckpt_samples.metadata()
    assert store.get(run_id, 0, 100).level == "committed"


def test_the_check_raises_the_level(run_id, sent):
    services.record(run_id, 0, [_seen(metadata=ckpt_samples.metadata())])
    checked = services.verify(run_id, 0, 100)
    assert (checked.level, checked.complete, checked.findings) == ("headers_verified", True, ())
    assert checked.checked_at_ns is not None
    assert services.verify(run_id, 0, 100).level == "headers_verified"


def test_content_that_comes_later_is_taken_too(run_id, sent):
    services.record(run_id, 0, [_seen()])
    assert services.record(run_id, 0, [_seen(metadata=ckpt_samples.metadata())]) == 1
    assert services.record(run_id, 0, [_seen(metadata=ckpt_samples.metadata())]) == 0
    assert len(sent) == 1


def test_a_cut_shard_is_found_and_a_mismatch_is_not_forgotten(run_id, sent):
    cut = {**ckpt_samples.inventory(), "__3_0.distcp": 5}
    services.record(run_id, 0, [_seen(cut, ckpt_samples.metadata())])
    services.record(run_id, 0, [_seen()])
    checked = services.verify(run_id, 0, 100)
    assert [f.code for f in checked.findings] == ["TRUNCATED", "INVENTORY_MISMATCH"]
    assert (checked.level, checked.complete) == ("committed", False)


def test_a_hostile_file_is_a_finding_and_nothing_else(run_id, sent):
    hostile = b"cposix\nsystem\n(Vtrue\ntR."
    files = {".metadata": len(hostile), "__0_0.distcp": 10}
    services.record(run_id, 0, [_seen(files, hostile)])
    checked = services.verify(run_id, 0, 100)
    assert [f.code for f in checked.findings] == ["METADATA_UNREADABLE"]
    assert not checked.complete


def test_a_file_above_the_limit_is_not_kept(run_id, sent, monkeypatch):
    monkeypatch.setattr(store, "MAX_METADATA_BYTES", 1_000)
    services.record(run_id, 0, [_seen(metadata=ckpt_samples.metadata())])
    kept = store.get(run_id, 0, 100)
    assert [f.code for f in kept.findings] == ["UNCHECKED"]
    assert (kept.complete, sent) == (True, [])


def test_what_a_lost_job_left_is_checked_by_the_catch_up(run_id, sent):
    services.record(run_id, 0, [_seen(metadata=ckpt_samples.metadata())])
    assert services.verify_unchecked() == 1
    assert services.verify_unchecked() == 0


def test_one_that_cannot_be_checked_keeps_no_other_from_it(run_id, sent, monkeypatch, caplog):
    later = replace(_seen(metadata=ckpt_samples.metadata()), step=200)
    services.record(run_id, 0, [_seen(metadata=ckpt_samples.metadata()), later])
    content = store.metadata

    def broken(run_id, attempt, step):
        if step == 100:
            raise ValueError("odd")
        return content(run_id, attempt, step)

    monkeypatch.setattr(store, "metadata", broken)
    assert recheck() == 1
    assert [r.message for r in caplog.records] == ["checkpoints.verify_failed"]
    assert store.get(run_id, 0, 200).level == "headers_verified"


def test_an_unknown_checkpoint_has_nothing_to_check(run_id):
    assert services.verify(run_id, 0, 999) is None
