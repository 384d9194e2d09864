"""apps.checkpoints.storage.mounts: /proc/self/mountinfo, and what its types mean."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.checkpoints.storage.mounts import WARNINGS, Kind, mount_here, mount_of, room

TABLE = r"""
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:40 / /mnt/ckpt rw - lustre 10.0.0.1@o2ib:/fs rw
31 30 0:41 / /mnt/ckpt/bucket rw,nosuid shared:9 master:2 - fuse.gcsfuse gcsfuse rw
32 22 0:42 / /mnt/s3 rw - fuse mountpoint-s3 rw
33 22 0:43 / /mnt/home\040of\040us rw - nfs4 nas:/export rw
34 22 0:44 / /dev/shm rw - tmpfs tmpfs rw
35 22 0:45 / /mnt/odd rw - fuse.sshfs host: rw
36 22 0:46 / /mnt/over rw - ext4 /dev/sdb1 rw
37 22 0:47 / /mnt/over rw - nfs nas:/new rw
"""


@pytest.mark.parametrize(
    ("path", "kind", "source"),
    [
        ("/srv/x", Kind.LOCAL, "/dev/sda1"),
        ("/mnt/ckpt", Kind.SHARED, "10.0.0.1@o2ib:/fs"),
        ("/mnt/ckpt2", Kind.LOCAL, "/dev/sda1"),
        ("/mnt/ckpt/bucket/run", Kind.BUCKET_MOUNT, "gcsfuse"),
        ("/mnt/s3/run", Kind.BUCKET_MOUNT, "mountpoint-s3"),
        ("/mnt/home of us/a", Kind.SHARED, "nas:/export"),
        ("/dev/shm/x", Kind.MEMORY, "tmpfs"),  # noqa: S108
        ("/mnt/odd/x", Kind.UNKNOWN, "host:"),
        ("/mnt/over", Kind.SHARED, "nas:/new"),
    ],
)
def test_the_nearest_and_last_mount_holds_a_folder(path, kind, source):
    found = mount_of(TABLE, path)
    assert (found.kind, found.source) == (kind, source)


def test_a_bucket_that_is_mounted_is_explained():
    assert "copies and deletes" in WARNINGS[Kind.BUCKET_MOUNT]
    assert Kind.SHARED not in WARNINGS


@given(st.text(max_size=300))
def test_no_table_is_too_odd(text):
    found = mount_of(text, "/mnt/x")
    assert found is None or found.point in text or "\\" in text


def test_this_machine_has_a_mount_and_room(tmp_path):
    assert mount_here(str(tmp_path)) is not None
    seen = room(str(tmp_path))
    assert 0 <= seen.free_bytes <= seen.total_bytes
