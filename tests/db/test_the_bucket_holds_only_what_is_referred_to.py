"""apps.logs.keeping.sweep_bucket"""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import transaction

from apps.core.clock import now_ns
from apps.core.sql import execute, query
from apps.logs import keeping
from apps.logs.store import notes, payloads
from apps.logs.store.payloads import HOUR_NS
from tests.log_batches import RUN, numbered, send, stored

pytestmark = pytest.mark.django_db


def sweep(hours=0):
    return keeping.sweep_bucket(datetime.now(UTC) + timedelta(hours=hours))


@pytest.fixture
def written_hours_ago(monkeypatch):
    monkeypatch.setattr(payloads, "now_ns", lambda: now_ns() - 3 * HOUR_NS)
    notes.note("bucket_swept_hour", str(payloads.hour_of(now_ns()) - 5))


def put_and_die():
    """The transaction of a batch ends without its commit."""
    with transaction.atomic():
        send(numbered(0, 3))
        transaction.set_rollback(True)


def test_what_a_killed_writer_put_is_deleted_and_counted(bucket, written_hours_ago):
    put_and_die()
    send(numbered(0, 5), batch_id="again")
    assert len(bucket.objects()) == 2
    assert sweep().orphans == 1
    assert len(bucket.objects()) == 1
    assert stored() == numbered(0, 5).splitlines()
    assert notes.noted(keeping.ORPHANS) == "1"
    assert sweep().orphans == 0


def test_an_object_that_may_still_get_its_row_is_left(bucket):
    put_and_die()
    assert sweep().orphans == 0
    assert len(bucket.objects()) == 1


def test_a_dropped_bundle_waits_for_its_last_readers(bucket):
    send(numbered(0, 5))
    payloads.release(RUN, {query("SELECT bundle_id FROM logs_bundle")[0][0]: 1})
    assert sweep().dropped == 0
    assert sweep(hours=2).dropped == 1
    assert bucket.objects() == {}
    assert query("SELECT count(*) FROM logs_bundle")[0][0] == 0


def test_a_bundle_that_is_gone_already_is_fine(bucket):
    send(numbered(0, 5))
    execute("UPDATE logs_bundle SET dropped_at = now() - interval '2 hours'")
    bucket.clear()
    assert sweep().dropped == 1


def test_without_a_bucket_there_is_nothing_to_sweep():
    assert sweep().orphans == 0
