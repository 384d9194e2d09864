"""apps.checkpoints.scanning against a real S3 server."""

import pytest

from apps.accounts.records import SYSTEM
from apps.checkpoints import copies_store, roots, roots_store, scanning, store
from apps.checkpoints.domain.codes import Level
from apps.checkpoints.domain.lifecycle import State
from apps.checkpoints.domain.places import Tier
from apps.checkpoints.root_records import Outcome, RootRule
from apps.checkpoints.storage import places
from apps.core.clock import now_ns
from apps.runs import store as runs
from tests.bucket_server import KEY_ID, NAME, SECRET
from tests.ckpt_trees import dcp_files

pytestmark = pytest.mark.django_db
PREFIX = "team/r/ckpt"


@pytest.fixture
def root_id(bucket_server, settings):
    """A root in the bucket, which holds one real step."""
    bucket_server.clear()
    settings.CHECKPOINT_ROOTS = (places.parse(f"s3://{NAME}/team"),)
    settings.CHECKPOINT_BUCKET_URL = bucket_server.url
    settings.CHECKPOINT_BUCKET_REGION = "us-east-1"
    settings.CHECKPOINT_BUCKET_KEY_ID, settings.CHECKPOINT_BUCKET_SECRET = KEY_ID, SECRET
    for name, content in dcp_files().items():
        bucket_server.client().put_object(
            Bucket=NAME, Key=f"{PREFIX}/step-100/{name}", Body=content
        )
    rule = RootRule(f"s3://{NAME}/{PREFIX}", runs.ensure_run("r"), "", "", 300)
    return roots.add(rule, SYSTEM, now_ns())


def look(root_id):
    roots_store.hurry(root_id, now_ns())
    return scanning.scan(root_id)


def test_a_checkpoint_in_a_bucket_is_registered_verified_and_missed(root_id, bucket_server):
    found = look(root_id)
    assert (found.outcome, found.message, found.kind) == (Outcome.WHOLE, "", "bucket")
    run_id = runs.ensure_run("r")
    (info,) = store.checkpoints(run_id)
    assert (info.state, info.level) == (State.VERIFIED, Level.HEADERS_VERIFIED)
    assert info.path == f"s3://{NAME}/{PREFIX}/step-100"
    assert info.inventory[".metadata"].etag
    assert info.look.bytes_read < info.look.bytes_total / 10
    (copy,) = copies_store.of_checkpoint(run_id, info.attempt, 100)
    assert copy.tier == Tier.BUCKET
    bucket_server.clear()
    assert look(root_id).lost == 1
    assert not store.checkpoints(run_id)[0].complete


def test_a_look_lists_and_reads_ranges_and_asks_for_nothing_else(root_id, bucket_server):
    before = bucket_server.log.stat().st_size
    look(root_id)
    with bucket_server.log.open("rb") as log:
        log.seek(before)
        asked = [line for line in log.read().decode().splitlines() if f"/{NAME}" in line]
    lists = [line for line in asked if "list-type=2" in line]
    assert len(lists) == 1
    assert {line.rsplit(" ", 2)[-2] for line in asked if line not in lists} == {"206"}
    assert not any('"HEAD ' in line or '"PUT ' in line for line in asked)


def test_a_bucket_that_refuses_loses_nothing(root_id, settings):
    look(root_id)
    settings.CHECKPOINT_BUCKET_URL = "http://127.0.0.1:1"
    found = look(root_id)
    assert found.outcome == Outcome.FAILED
    assert f"the bucket {NAME} fails (list)" in found.message
    assert SECRET not in found.message
    assert store.checkpoints(runs.ensure_run("r"))[0].complete
