"""apps.checkpoints.storage.s3 with a real S3 server; Amazon's client puts what is there."""

import pytest

from apps.checkpoints.domain.reading import Unreadable, Vanished
from apps.checkpoints.storage.listing import Bounds
from apps.checkpoints.storage.s3 import RETRIES, BucketTrouble, S3Access, S3Folder
from tests.bucket_server import KEY_ID, NAME, SECRET
from tests.stack import free_port


@pytest.fixture
def put(bucket_server):
    """Puts objects below the prefix of the tests."""
    bucket_server.clear()
    client = bucket_server.client()
    return lambda key, body: client.put_object(Bucket=NAME, Key=key, Body=body)


def folder(server, prefix="runs/x"):
    return S3Folder(NAME, prefix, S3Access(server.url, "us-east-1", KEY_ID, SECRET))


def test_a_listing_has_sizes_times_and_etags(bucket_server, put):
    put("runs/x/step-1/a.bin", b"0123456789")
    put("runs/x/step-1/", b"")
    put("runs/xy/step-1/b.bin", b"")
    found = folder(bucket_server).listing()
    (only,) = found.files.items()
    assert only[0] == "step-1/a.bin"
    assert (only[1].size, only[1].etag) == (10, '"781e5e245d69b566979b86e28d23f2c7"')
    assert only[1].mtime_ns > 1_700_000_000 * 10**9
    assert found.whole


@pytest.mark.parametrize(
    ("start", "length", "data"),
    [(0, 4, b"0123"), (8, 10, b"89"), (-3, 3, b"789"), (-30, 30, b"0123456789"), (20, 4, b"")],
)
def test_a_range_is_read_from_either_end(bucket_server, put, start, length, data):
    put("runs/x/a.bin", b"0123456789")
    assert folder(bucket_server).read("a.bin", start, length) == data


def test_what_is_gone_is_vanished(bucket_server, put):
    with pytest.raises(Vanished):
        folder(bucket_server).read("a.bin", 0, 4)


def test_a_huge_listing_stops(bucket_server, put):
    for number in range(4):
        put(f"runs/x/a/{number}", b"")
    found = folder(bucket_server).listing(Bounds(entries=3))
    assert len(found.files) == 3
    assert found.holes == {"", "a"}
    assert found.cut == "it holds more than 3 files: only those were looked at"


def test_a_key_that_cannot_be_read_cuts_the_listing_and_is_named(bucket_server, put):
    put("runs/x//a", b"")
    found = folder(bucket_server).listing()
    assert not found.whole
    assert "runs/x//a" in found.cut


def test_a_bucket_that_is_away_is_said_so(monkeypatch):
    monkeypatch.setitem(RETRIES, "max_retries", 0)
    access = S3Access(f"http://127.0.0.1:{free_port()}", "us-east-1", KEY_ID, SECRET)
    away = S3Folder(NAME, "runs/x", access)
    with pytest.raises(BucketTrouble, match=f"the bucket {NAME} fails"):
        away.listing()
    with pytest.raises(Unreadable):
        away.read("a.bin", 0, 4)


def test_a_bucket_that_is_not_there_is_not_an_empty_one(bucket_server):
    away = S3Folder("no-such-bucket", "", S3Access(bucket_server.url, "us-east-1", KEY_ID, SECRET))
    with pytest.raises((BucketTrouble, FileNotFoundError)):
        away.listing()
