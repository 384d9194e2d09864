"""The recordings that ship with Lastgood unpack safely and completely."""

import pytest

from apps.core.errors import AppError
from workers.demo import recordings


def test_every_recording_has_logs_a_wandb_file_and_checkpoint_events(tmp_path):
    folder = recordings.unpack("exc_r6", tmp_path)

    assert folder == tmp_path / "exc_r6"
    assert (folder / "checkpoint_events.jsonl").stat().st_size == 702
    assert len(list(folder.glob("wandb/*/run-*.wandb"))) == 1
    assert len(list(folder.glob("gpu-*/*/attempt_0/*/stderr.log"))) == 8


def test_unpacking_again_keeps_what_is_there(tmp_path):
    folder = recordings.unpack("exc_r6", tmp_path)
    (folder / "note.txt").write_text("mine")

    assert recordings.unpack("exc_r6", tmp_path) == folder
    assert (folder / "note.txt").read_text() == "mine"


def test_an_interrupted_unpacking_is_finished_by_the_next_one(tmp_path):
    (tmp_path / ".exc_r6.unpacking" / "exc_r6" / "gpu-a01").mkdir(parents=True)

    assert (recordings.unpack("exc_r6", tmp_path) / "checkpoint_events.jsonl").is_file()


def test_an_unknown_name_says_which_recordings_exist(tmp_path):
    with pytest.raises(AppError, match="no recording 'nope'; choose one of badbatch, exc_r6"):
        recordings.unpack("nope", tmp_path)
