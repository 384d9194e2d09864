"""apps.checkpoints.storage.erase_work on a real disk: what goes, and all that stays."""

from __future__ import annotations

import os

import msgspec
import pytest

from apps.checkpoints.storage import erase_work
from apps.checkpoints.storage.protocol import EraseAsk, Erased, Failed, FileSeen, Objected, Target
from apps.checkpoints.storage.s3 import S3Access

FILES = {".metadata": b"m", "state/__0_0.distcp": b"abc", "state/deep/x": b"x"}


@pytest.fixture
def step(tmp_path):
    """A step of nested folders, beside another one."""
    for name in ("step-1", "step-2"):
        for file, content in FILES.items():
            path = tmp_path / "ckpt" / name / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    return tmp_path / "ckpt" / "step-1"


def ask(folder, files=None, **more):
    sizes = {name: len(content) for name, content in FILES.items()} if files is None else files
    said = EraseAsk(
        target=Target("", str(folder), S3Access(), 0),
        files={name: FileSeen(size) for name, size in sizes.items()},
        alone=False,
        within=(str(folder.parent.parent),),
        looked_at_ns=2**62,
        begun=False,
        only_look=False,
        files_s=0,
    )
    return msgspec.structs.replace(said, **more)


def answer(asked):
    said = []
    erase_work.run(asked, said.append)
    (one,) = said
    return one


def test_its_files_and_folders_go_and_the_next_one_stays(step):
    assert answer(ask(step)) == Erased(3)
    assert sorted(os.listdir(step.parent)) == ["step-2"]
    assert (step.parent / "step-2" / "state" / "deep" / "x").read_bytes() == b"x"


def test_a_look_deletes_nothing(step):
    assert answer(ask(step, only_look=True)) == Erased(0)
    assert (step / ".metadata").exists()


def test_a_checkpoint_of_one_file_goes_alone(step):
    (step.parent / "a.ckpt").write_bytes(b"1234")
    asked = ask(step.parent, {"a.ckpt": 4}, alone=True, within=(str(step.parent.parent),))
    assert answer(asked) == Erased(1)
    assert sorted(os.listdir(step.parent)) == ["step-1", "step-2"]


def test_of_a_link_inside_only_the_link_goes(step):
    (step / "twin").symlink_to("state/deep/x")
    sizes = {**{name: len(content) for name, content in FILES.items()}, "twin": 1}
    outside = step.parent / "step-2" / "state" / "deep" / "x"
    assert answer(ask(step, sizes)) == Erased(4)
    assert outside.exists()


def test_a_link_that_leads_out_is_an_objection(step):
    (step / "out").symlink_to(step.parent / "step-2")
    found = answer(ask(step))
    assert isinstance(found, Objected)
    assert "out -> " in found.reason


def test_a_pipe_is_an_objection(step):
    os.mkfifo(step / "pipe")
    assert answer(ask(step)) == Objected("it holds pipes or devices")


def test_what_is_not_there_is_an_objection_until_the_deletion_has_begun(step):
    gone = step.parent / "step-9"
    assert answer(ask(gone)).reason.startswith("3 registered files not there")
    assert answer(ask(gone, begun=True)) == Erased(0)


def test_a_folder_that_is_allowed_is_no_checkpoint_itself(step):
    found = answer(ask(step, within=(str(step),)))
    assert "outside of where may be deleted" in found.reason


def test_a_storage_that_refuses_is_tried_again(step, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "unlink", refuse)
    assert answer(ask(step)) == Failed("Permission denied")
