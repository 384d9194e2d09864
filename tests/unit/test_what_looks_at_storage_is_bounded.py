"""apps.checkpoints.storage.process: the child that lists and reads, with real processes."""

import os

import pytest

from apps.checkpoints.domain.layouts.base import FoundStep
from apps.checkpoints.storage import scan_work
from apps.checkpoints.storage.listing import Bounds
from apps.checkpoints.storage.process import ChildFailed, Limits, answers
from apps.checkpoints.storage.protocol import (
    BesideSeen,
    Failed,
    FileHashed,
    FileLost,
    HashAsk,
    ListingSeen,
    PartSeen,
    RoomSeen,
    SameSeen,
    ScanAsk,
    StepSeen,
    Target,
)
from apps.checkpoints.storage.s3 import S3Access
from tests.ckpt_trees import cut, dcp_files, lay

ENOUGH = Limits(60, 1 << 30)


def scan(root, limits=ENOUGH, **asked):
    target = Target("", str(root), S3Access(), 0)
    return list(answers(ScanAsk(target, Bounds(), **asked), limits))


def steps(found):
    return [one for one in found if isinstance(one, StepSeen)]


def test_a_root_is_listed_and_its_steps_checked_newest_first(tmp_path):
    lay(tmp_path / "step-100")
    cut(lay(tmp_path / "step-200") / "__1_0.distcp")
    room, listing, newest, older = scan(tmp_path)
    assert isinstance(room, RoomSeen) and room.free_bytes > 0
    assert isinstance(listing, ListingSeen) and listing.files == 10
    assert (newest.step, newest.level, [f.code for f in newest.findings]) == (
        200,
        "committed",
        ["TRUNCATED"],
    )
    assert (older.step, older.level, older.findings) == (100, "headers_verified", ())
    assert older.bytes_total == sum(map(len, dcp_files().values()))
    assert older.bytes_read < older.bytes_total / 10


def test_what_looks_as_before_is_not_read_again(tmp_path):
    lay(tmp_path / "step-100")
    (first,) = steps(scan(tmp_path))
    known = {first.path: first.fingerprint}
    assert scan(tmp_path, known=known)[-1] == SameSeen("", "step-100")
    os.utime(tmp_path / "step-100" / "__0_0.distcp", ns=(1, 1))
    assert len(steps(scan(tmp_path, known=known))) == 1


def test_a_step_that_was_listed_in_part_is_not_judged(tmp_path):
    lay(tmp_path / "step-100")
    lay(tmp_path / "step-200")
    target = Target("", str(tmp_path), S3Access(), 0)
    *_, newest, older = answers(ScanAsk(target, Bounds(entries=9)), ENOUGH)
    assert (newest.path, newest.findings) == ("step-200", ())
    assert older == PartSeen("", "step-100")


def test_a_shard_that_leads_out_makes_no_damage_of_what_cannot_be_seen(tmp_path):
    root = tmp_path / "root"
    lay(root / "step-100")
    (root / "step-100" / "__0_0.distcp").rename(tmp_path / "elsewhere")
    (root / "step-100" / "__0_0.distcp").symlink_to(tmp_path / "elsewhere")
    assert scan(root)[-1] == PartSeen("", "step-100")


@pytest.mark.parametrize(
    ("layout", "holes", "partial"),
    [
        ("deepspeed", {"ckpt/global_step1/zero"}, True),
        ("deepspeed", {"ckpt/global_step10"}, False),
        ("deepspeed", {"ckpt"}, True),
        ("torchtitan", {"ckpt"}, False),
        ("torchtitan", set(), False),
    ],
)
def test_a_pointer_that_was_not_listed_uncommits_nothing(layout, holes, partial):
    found = FoundStep(layout, 1, "ckpt/global_step1", "ckpt/global_step1", {})
    assert scan_work.is_partial(found, "", holes) == partial


def test_a_shared_root_says_which_run_stands_where(tmp_path):
    lay(tmp_path / "exp-a" / "ckpt" / "step-100")
    (seen,) = steps(scan(tmp_path, pattern="exp-{run}/ckpt"))
    assert (seen.run, seen.path) == ("a", "exp-a/ckpt/step-100")


def test_a_pointer_to_a_linked_step_leads_somewhere(tmp_path):
    (tmp_path / "old" / "iter_0000100").mkdir(parents=True)
    (tmp_path / "old" / "iter_0000100" / "mp_rank_00").mkdir()
    (tmp_path / "old/iter_0000100/mp_rank_00/model_optim_rng.pt").write_bytes(b"x")
    (tmp_path / "old" / "latest_checkpointed_iteration.txt").write_text("100")
    branch = tmp_path / "branch"
    branch.mkdir()
    (branch / "iter_0000100").symlink_to("../old/iter_0000100")
    (branch / "latest_checkpointed_iteration.txt").write_text("100")
    assert [one for one in scan(tmp_path) if isinstance(one, BesideSeen)] == []
    (branch / "latest_checkpointed_iteration.txt").write_text("900")
    (beside,) = (one for one in scan(tmp_path) if isinstance(one, BesideSeen))
    assert beside.finding.code == "STALE_LATEST"


def test_a_root_that_is_not_there_is_said_so(tmp_path):
    assert scan(tmp_path / "nowhere") == [Failed("it is not there", gone=True)]


def test_a_child_that_takes_too_long_is_ended(tmp_path):
    with pytest.raises(ChildFailed, match="took longer than 0 s and was ended"):
        scan(tmp_path, Limits(0.01, 1 << 30))


def test_a_child_that_needs_too_much_memory_is_ended(tmp_path):
    lay(tmp_path / "step-100")
    with pytest.raises(ChildFailed, match="more memory than it may have"):
        hashed(tmp_path, {"step-100/__0_0.distcp": 1 << 40}, Limits(60, 40 << 20))


def hashed(root, files, limits=ENOUGH):
    return list(answers(HashAsk(Target("", str(root), S3Access(), 0), files), limits))


def test_whole_files_are_hashed_to_where_they_end_now(tmp_path):
    (tmp_path / "a").write_bytes(b"abc")
    (tmp_path / "longer").write_bytes(b"abcd")
    a, longer, gone = hashed(tmp_path, {"a": 3, "longer": 3, "gone": 1})
    digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert a == FileHashed("a", 3, digest)
    assert (longer.bytes, longer.sha256 != digest) == (4, True)
    assert gone == FileLost("gone", "the file is not there", gone=True)


def test_the_child_gets_no_secret_of_ours(monkeypatch):
    from apps.checkpoints.storage.process import _environment

    monkeypatch.setenv("DATABASE_URL", "postgresql://secret")
    monkeypatch.setenv("SECRET_KEY", "secret")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "of-the-bucket")
    given = _environment()
    assert not {"DATABASE_URL", "SECRET_KEY"} & set(given)
    assert given["AWS_ACCESS_KEY_ID"] == "of-the-bucket"
