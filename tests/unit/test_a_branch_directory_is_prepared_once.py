"""The branch directory on a real file system, by one node, by many, and after a crash."""

import os
import re
import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.branch_samples import LAYOUTS, RUN, payload, written
from workers.cli import branching
from workers.cli.branching import MARKER, prepare
from workers.cli.server import Trouble


@pytest.fixture
def place(tmp_path):
    """The old directory, and where the branch goes."""
    return tmp_path / "run" / "ckpt", tmp_path / "run" / "ckpt.rollback-7"


def listing(folder):
    """name -> link target or content of everything in a folder."""
    return {
        path.name: os.readlink(path) if path.is_symlink() else path.read_text()
        for path in folder.iterdir()
        if path.is_symlink() or path.is_file()
    }


@pytest.mark.parametrize("framework", LAYOUTS)
def test_the_step_is_found_in_the_branch_and_the_original_is_as_before(place, framework):
    old, new = place
    step = written(old, framework)
    asked = payload(step, new, framework)
    before = sorted(old.rglob("*"))
    assert "is ready" in prepare(asked)
    load = asked["branch"]["load"]
    assert os.path.realpath(load) == str(step)
    assert sorted(old.rglob("*")) == before
    made = listing(new)
    assert "prepared before" in prepare(asked)
    assert listing(new) == made


def test_links_are_relative_so_that_they_hold_under_every_mount_point(place, tmp_path):
    old, new = place
    prepare(payload(written(old, "hf_trainer"), new, "hf_trainer"))
    assert os.readlink(new / "checkpoint-900") == "../ckpt/checkpoint-900"
    moved = (tmp_path / "run").rename(tmp_path / "mounted elsewhere")
    assert (moved / "ckpt.rollback-7" / "checkpoint-900" / "trainer_state.json").exists()


def test_a_rollback_to_a_linked_step_leads_to_the_original(place, tmp_path):
    old, new = place
    prepare(payload(written(old, "hf_trainer"), new, "hf_trainer"))
    again = tmp_path / "run" / "ckpt.rollback-8"
    prepare(payload(new / "checkpoint-900", again, "hf_trainer"))
    shutil.rmtree(new)
    assert (again / "checkpoint-900" / "trainer_state.json").exists()


def test_a_pointer_that_the_training_has_moved_is_never_set_back(place):
    old, new = place
    asked = payload(written(old, "megatron"), new, "megatron")
    prepare(asked)
    tracker = new / "latest_checkpointed_iteration.txt"
    assert tracker.read_text() == "900"
    tracker.write_text("1000")
    (new / "iter_0001000").mkdir()
    prepare(asked)
    assert tracker.read_text() == "1000"


def test_all_nodes_of_a_job_may_prepare_at_the_same_time(place):
    old, new = place
    asked = payload(written(old, "deepspeed"), new, "deepspeed")
    with ThreadPoolExecutor(8) as nodes:
        said = list(nodes.map(lambda _: prepare(asked), range(32)))
    assert len(said) == 32
    assert sorted(listing(new)) == sorted(["global_step900", "latest", MARKER])


@pytest.mark.parametrize("dies_in", ["_link", "_write_once", "_sync"])
def test_what_a_killed_node_left_is_completed_by_the_next(place, monkeypatch, dies_in):
    old, new = place
    asked = payload(written(old, "megatron"), new, "megatron")

    def die(*args):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(branching, dies_in, die)
        with pytest.raises(KeyboardInterrupt):
            prepare(asked)
    prepare(asked)
    assert sorted(listing(new)) == sorted(
        ["iter_0000900", "latest_checkpointed_iteration.txt", MARKER]
    )


def refused(asked, words):
    with pytest.raises(Trouble, match=re.escape(words)):
        prepare(asked)


def test_a_directory_in_which_something_lies_is_refused(place):
    old, new = place
    asked = payload(written(old, "hf_trainer"), new, "hf_trainer")
    (new / "checkpoint-1200").mkdir(parents=True)
    refused(asked, "is not empty: checkpoint-1200")
    assert sorted(path.name for path in new.iterdir()) == ["checkpoint-1200"]


def test_a_directory_of_another_rollback_is_refused(place):
    old, new = place
    asked = payload(written(old, "hf_trainer"), new, "hf_trainer")
    prepare(asked)
    refused({**asked, "run": "other"}, f"was prepared for step 900 of {RUN}")


def test_a_link_that_leads_elsewhere_is_refused(place, tmp_path):
    old, new = place
    asked = payload(written(old, "hf_trainer"), new, "hf_trainer")
    new.mkdir(parents=True)
    (new / "checkpoint-900").symlink_to(tmp_path)
    refused(asked, "checkpoint-900 is there and leads to")


def test_a_checkpoint_that_has_changed_is_refused_unless_any_files_will_do(place):
    old, new = place
    step = written(old, "hf_trainer")
    asked = payload(step, new, "hf_trainer")
    (step / "model.safetensors").write_bytes(b"cut")
    refused(asked, "is not what its inventory says: 2 files, 22 bytes are here")
    assert not new.exists()
    prepare(asked, check_files=False)
    assert new.exists()


def test_a_checkpoint_that_is_gone_is_refused_before_and_after(place):
    old, new = place
    step = written(old, "hf_trainer")
    asked = payload(step, new, "hf_trainer")
    prepare(asked)
    shutil.rmtree(step)
    refused(asked, "leads nowhere: the checkpoint was deleted")
    shutil.rmtree(new)
    refused(asked, "is not on this machine")


def test_a_place_that_cannot_be_written_is_said(place, tmp_path):
    old, _ = place
    (tmp_path / "file").write_text("")
    refused(payload(written(old, "dcp"), tmp_path / "file" / "x", "dcp"), "cannot be prepared")


def test_there_is_nothing_to_do_without_a_checkpoint_or_in_an_object_store(place):
    old, new = place
    asked = payload(written(old, "dcp"), new, "dcp")
    assert "start at the beginning" in prepare({**asked, "branch": None})
    assert "object store" in prepare({**asked, "checkpoint_uri": "s3://b/step-9"})
    here = payload(written(old, "dcp"), old, "dcp")
    assert "nothing to prepare" in prepare(here)
    assert not new.exists()
