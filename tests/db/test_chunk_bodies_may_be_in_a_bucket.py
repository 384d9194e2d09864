"""apps.logs.store.payloads with a real S3 server; Amazon's client looks at what is there."""

import pytest

from apps.core.database import is_trouble
from apps.core.errors import AppError
from apps.core.sql import query
from apps.logs.store import trouble
from apps.logs.store.bucket import RETRIES, Bucket, BucketAway
from apps.logs.store.payloads import check_bucket
from tests.bucket_server import NAME
from tests.log_batches import numbered, send, stored
from tests.stack import free_port

pytestmark = pytest.mark.django_db


def test_lines_are_read_back_from_the_bucket(bucket):
    send(numbered(0, 5), batch_id="a")
    send(numbered(5, 9), offset=40, batch_id="b")
    assert query("SELECT count(body), sum(size_bytes) FROM logs_chunk")[0] == (
        0,
        sum(bucket.objects().values()),
    )
    assert stored() == numbered(0, 9).splitlines()
    assert stored(newest_first=True) == numbered(0, 9).splitlines()[::-1]


def test_a_batch_is_one_object_below_the_prefix(bucket, monkeypatch):
    monkeypatch.setattr("apps.logs.domain.chunk.cutting.MAX_CHUNK_LINES", 2)
    send(numbered(0, 9))
    (key,) = bucket.objects()
    assert key.startswith("site/chunks/")
    assert query("SELECT count(*) FROM logs_chunk")[0][0] == 5
    assert stored() == numbered(0, 9).splitlines()


def test_what_was_written_before_the_bucket_was_set_stays_readable(bucket, settings):
    settings.LOGS_BUCKET = ""
    send(numbered(0, 3), batch_id="a")
    settings.LOGS_BUCKET = f"{NAME}/site"
    send(numbered(3, 6), offset=24, batch_id="b")
    assert len(bucket.objects()) == 1
    assert stored() == numbered(0, 6).splitlines()


def test_a_bucket_that_is_away_is_trouble_and_noted_until_it_works(bucket, settings, monkeypatch):
    monkeypatch.setitem(RETRIES, "max_retries", 0)
    settings.LOGS_BUCKET_URL = f"http://127.0.0.1:{free_port()}"
    with pytest.raises(BucketAway) as caught:
        send(numbered(0, 3))
    assert is_trouble(caught.value)
    first = trouble.current()
    assert first.reason == str(caught.value)
    with pytest.raises(BucketAway):
        check_bucket()
    assert trouble.current().since_ns == first.since_ns
    settings.LOGS_BUCKET_URL = bucket.url
    check_bucket()
    assert trouble.current() is None


def test_no_message_names_the_secret(bucket, settings):
    settings.LOGS_BUCKET = "no-such-bucket"
    with pytest.raises(BucketAway) as caught:
        check_bucket()
    assert "no-such-bucket" in str(caught.value)
    assert settings.LOGS_BUCKET_SECRET not in str(caught.value)


def test_an_object_that_somebody_deleted_is_named(bucket):
    send(numbered(0, 3))
    bucket.clear()
    with pytest.raises(AppError, match="gone") as caught:
        stored()
    assert caught.value.where.startswith("chunks/")


def test_deleting_what_is_not_there_is_fine(bucket):
    Bucket(f"{NAME}/site", bucket.url).delete(["chunks/0/never"])
