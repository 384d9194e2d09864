"""apps.checkpoints.storage.posix, on real folders made to harm."""

import os

import pytest

from apps.checkpoints.domain.reading import Unreadable, Vanished
from apps.checkpoints.storage.listing import Bounds
from apps.checkpoints.storage.posix import PosixFolder


@pytest.fixture
def root(tmp_path):
    """A root with one step of two files, and a secret beside the root."""
    (tmp_path / "secret").write_bytes(b"not yours")
    step = tmp_path / "root" / "step-1"
    step.mkdir(parents=True)
    (step / "a.bin").write_bytes(b"0123456789")
    (step / "b.bin").write_bytes(b"")
    return tmp_path / "root"


def listed(root, **bounds):
    return PosixFolder(str(root)).listing(Bounds(**bounds))


def test_a_listing_has_sizes_and_times(root):
    found = listed(root)
    assert {name: stat.size for name, stat in found.files.items()} == {
        "step-1/a.bin": 10,
        "step-1/b.bin": 0,
    }
    assert found.files["step-1/a.bin"].mtime_ns == (root / "step-1/a.bin").stat().st_mtime_ns
    assert found.whole


@pytest.mark.parametrize(
    ("start", "length", "data"),
    [(0, 4, b"0123"), (8, 10, b"89"), (-3, 3, b"789"), (-30, 30, b"0123456789"), (20, 4, b"")],
)
def test_a_range_is_read_from_either_end(root, start, length, data):
    assert PosixFolder(str(root)).read("step-1/a.bin", start, length) == data


def test_a_link_inside_is_followed_and_told(root):
    (root / "last").symlink_to("step-1/a.bin")
    (root / "older").symlink_to("step-0")
    found = listed(root).files
    assert (found["last"].size, found["last"].link_to) == (10, "step-1/a.bin")
    assert (found["older"].size, found["older"].link_to) == (0, "step-0")
    assert PosixFolder(str(root)).read("last", 0, 2) == b"01"


def test_a_link_to_a_folder_inside_lists_nothing_twice(root):
    (root / "branch").mkdir()
    (root / "branch" / "step-1").symlink_to("../step-1")
    found = listed(root)
    assert found.linked == {"branch/step-1": "step-1"}
    assert len(found.files) == 2


@pytest.mark.parametrize("target", ["../../secret", "{secret}"])
def test_a_link_that_leads_out_is_named_and_never_read(root, target):
    secret = root.parent / "secret"
    (root / "step-1" / "c.bin").symlink_to(target.format(secret=secret))
    found = listed(root)
    assert "step-1/c.bin" not in found.files
    assert found.outside == (f"step-1/c.bin -> {target.format(secret=secret)}",)
    with pytest.raises(Unreadable, match="leads out of the folder"):
        PosixFolder(str(root)).read("step-1/c.bin", 0, 9)


def test_a_folder_that_is_a_link_to_the_outside_is_not_entered(root):
    (root / "all").symlink_to("/")
    found = listed(root)
    assert len(found.files) == 2
    assert found.outside == ("all -> /",)
    with pytest.raises(Unreadable):
        PosixFolder(str(root)).read("all/etc/passwd", 0, 9)


def test_a_file_that_becomes_a_link_after_the_listing_is_not_read(root):
    folder = PosixFolder(str(root))
    assert "step-1/a.bin" in folder.listing().files
    (root / "step-1/a.bin").unlink()
    (root / "step-1/a.bin").symlink_to("../../secret")
    with pytest.raises(Unreadable):
        folder.read("step-1/a.bin", 0, 9)


def test_going_up_by_name_leads_nowhere(root):
    with pytest.raises(Unreadable):
        PosixFolder(str(root)).read("../secret", 0, 9)


def test_a_pipe_neither_hangs_nor_counts(root):
    os.mkfifo(root / "step-1" / "pipe")
    assert listed(root).other == 1
    with pytest.raises(Unreadable, match="no plain file"):
        PosixFolder(str(root)).read("step-1/pipe", 0, 1)


def test_what_is_gone_is_vanished(root):
    with pytest.raises(Vanished):
        PosixFolder(str(root)).read("step-1/x.bin", 0, 1)
    with pytest.raises(Vanished):
        PosixFolder(str(root)).read("step-1/a.bin/x", 0, 1)
    with pytest.raises(FileNotFoundError):
        listed(root / "nowhere")


def test_a_huge_listing_stops_and_has_the_newest_steps(root):
    for step in (2, 9, 10):
        (root / f"step-{step}").mkdir()
        (root / f"step-{step}" / "x").touch()
    found = listed(root, entries=6)
    assert set(found.files) == {"step-10/x", "step-9/x"}
    assert found.holes == {"step-2"}
    assert found.cut == "it holds more than 6 files: only those were looked at"
    assert not found.whole


def test_folders_too_deep_in_each_other_are_named(root):
    (root / "a/b/c").mkdir(parents=True)
    found = listed(root, depth=1)
    assert found.unread == ("a/b: folders lie too deep in each other",)
    assert not found.whole


def test_a_listing_that_takes_too_long_stops(root):
    found = listed(root, seconds=-1.0)
    assert found.files == {}
    assert found.cut.startswith("listing took longer than")


def test_a_name_that_is_no_text_is_told_and_passed_over(root):
    (root / os.fsdecode(b"bad-\xff")).write_bytes(b"x")
    found = listed(root)
    assert len(found.files) == 2
    assert found.unread == ("bad-\N{REPLACEMENT CHARACTER}: its name is too long or no UTF-8",)
