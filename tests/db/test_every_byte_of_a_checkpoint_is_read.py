"""apps.checkpoints.hashing, on a real disk."""

import os

import pytest

from apps.accounts.records import SYSTEM
from apps.checkpoints import hashes_store, hashing, roots, roots_store, scanning, store
from apps.checkpoints.domain.codes import Level
from apps.checkpoints.root_records import RootRule
from apps.checkpoints.storage import places, process
from apps.checkpoints.storage.process import ChildFailed
from apps.checkpoints.storage.protocol import FileHashed
from apps.core.clock import now_ns
from apps.core.errors import Refused
from apps.runs import store as runs
from tests.ckpt_trees import answers_here, dcp_files, lay

pytestmark = pytest.mark.django_db


@pytest.fixture
def step(tmp_path, settings, valkey, monkeypatch):
    """A step that was looked at: its folder."""
    monkeypatch.setattr(scanning, "answers", answers_here)
    monkeypatch.setattr(hashing, "answers", answers_here)
    settings.CHECKPOINT_ROOTS = (places.parse(str(tmp_path)),)
    folder = lay(tmp_path / "step-100")
    rule = RootRule(str(tmp_path), runs.ensure_run("r"), "", "", 300)
    scanning.scan(roots.add(rule, SYSTEM, now_ns()))
    return folder


def info():
    return store.get(runs.ensure_run("r"), 0, 100)


def wanted():
    return hashing.ask(runs.ensure_run("r"), 0, 100, SYSTEM, now_ns())


def read():
    asked = wanted()
    return hashing.read_content(asked.run_id, 0, 100, asked.uri)


def flip(file, at):
    """Changes one bit at the same size and time."""
    before = file.stat()
    content = bytearray(file.read_bytes())
    content[at] ^= 1
    file.write_bytes(content)
    os.utime(file, ns=(before.st_mtime_ns, before.st_mtime_ns))


def test_the_second_reading_verifies_what_the_first_took(step, monkeypatch):
    monkeypatch.setattr(hashing, "answers", process.answers)
    first = read()
    assert (first.state, first.percent) == ("done", 100)
    assert first.message.startswith(".metadata: read for the first time")
    assert info().level == Level.HEADERS_VERIFIED
    second = read()
    assert (second.state, second.digest) == ("done", first.digest)
    assert (info().level, info().look.content_digest) == (Level.HASH_VERIFIED, first.digest)
    assert info().look.bytes_read == sum(map(len, dcp_files().values()))


def test_a_flipped_bit_is_found_by_the_shards_own_checksums_and_stays(step):
    flip(step / "__1_0.distcp", 40_000)
    assert info().complete
    read()
    (found,) = info().findings
    assert found.code == "HASH_MISMATCH"
    assert "__1_0.distcp: archive/data/" in found.message
    assert not info().complete
    os.utime(step / "__2_0.distcp", ns=(1, 1))
    root = roots_store.roots()[0]
    roots_store.hurry(root.id, now_ns())
    scanning.scan(root.id)
    assert "HASH_MISMATCH" in {one.code for one in info().findings}


def test_a_byte_without_a_checksum_is_found_by_the_next_reading(step):
    read()
    flip(step / ".metadata", 12_000)
    read()
    said = {one.code: one.message for one in info().findings}
    assert "1 file with the same size and other bytes" in said["HASH_MISMATCH"]
    assert ".metadata" in said["HASH_MISMATCH"]


def test_a_reading_that_dies_goes_on_behind_the_last_file(step, monkeypatch):
    whole, seen = hashing.answers, []

    def killed(ask, limits):
        for answer in whole(ask, limits):
            yield answer
            if isinstance(answer, FileHashed):
                raise ChildFailed("it was ended by signal 9")

    monkeypatch.setattr(hashing, "answers", killed)
    assert (read().state, read().message) == ("failed", "it was ended by signal 9")
    monkeypatch.setattr(
        hashing, "answers", lambda ask, limits: seen.append(ask) or whole(ask, limits)
    )
    asked = wanted()
    hashes_store.note(asked, 0, None, now_ns())
    done = hashing.read_content(asked.run_id, 0, 100, asked.uri)
    assert done.state == "done"
    assert len(seen[0].files) == 5


def test_a_file_that_is_gone_fails_the_reading_and_is_named(step):
    (step / "__3_0.distcp").unlink()
    failed = read()
    assert failed.state == "failed"
    assert "1 file could not be read to the end: __3_0.distcp" in failed.message


def test_it_is_cancelled_and_asked_for_once(step):
    asked = wanted()
    with pytest.raises(Refused, match="it is being read already"):
        wanted()
    hashing.cancel(asked.run_id, 0, 100, SYSTEM, now_ns())
    assert hashing.read_content(asked.run_id, 0, 100, asked.uri) is None
    assert hashes_store.get(asked.run_id, 0, 100, asked.uri).state == "cancelled"
    with pytest.raises(Refused, match="not being read"):
        hashing.cancel(asked.run_id, 0, 100, SYSTEM, now_ns())


def test_a_reading_is_cancelled_while_it_goes_on(step, monkeypatch):
    whole = hashing.answers

    def meanwhile(ask, limits):
        hashing.cancel(runs.ensure_run("r"), 0, 100, SYSTEM, now_ns())
        yield from whole(ask, limits)

    monkeypatch.setattr(hashing, "answers", meanwhile)
    assert read().state == "cancelled"
    assert info().level == Level.HEADERS_VERIFIED


def test_one_is_read_at_a_time_and_a_dead_one_is_found_due(step):
    asked = wanted()
    now = now_ns()
    silent = int(hashing.SILENT_S * 10**9)
    assert hashes_store.waiting(now - silent) == [(asked.run_id, 0, 100, asked.uri)]
    assert hashes_store.claim(asked.run_id, 0, 100, asked.uri, now, now - silent)
    assert not hashes_store.claim(asked.run_id, 0, 100, asked.uri, now, now - silent)
    assert hashes_store.waiting(now - silent) == []
    later = now + 2 * silent
    assert hashes_store.waiting(later - silent) == [(asked.run_id, 0, 100, asked.uri)]
    assert hashes_store.claim(asked.run_id, 0, 100, asked.uri, later, later - silent)


def test_what_lies_outside_is_not_read(step, settings):
    asked = wanted()
    settings.CHECKPOINT_ROOTS = ()
    failed = hashing.read_content(asked.run_id, 0, 100, asked.uri)
    assert failed.state == "failed"
    assert "may not be looked at" in failed.message
    with pytest.raises(Refused):
        wanted()


def test_a_folder_that_became_a_link_to_elsewhere_is_not_read(step, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    step.rename(elsewhere / "step-100")
    step.symlink_to(elsewhere / "step-100")
    failed = read()
    assert failed.state == "failed"
    assert "leads out of the folders that may be looked at" in failed.message
