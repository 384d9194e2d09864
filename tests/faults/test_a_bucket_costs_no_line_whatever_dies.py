"""Log lines in a real bucket: away at first, then the writer and the merger are killed."""

import pytest

from tests.bucket_server import BucketServer
from tests.faults.exactly_once import assert_exactly_once, finish, senders
from tests.stack import until

MERGED = "SELECT 1 FROM logs_chunk WHERE batch_id = '' AND bundle_id IS NOT NULL LIMIT 1"


@pytest.fixture
def away(stack, tmp_path):
    """The stack is told of a bucket whose server has not been started."""
    server = BucketServer(tmp_path)
    before = dict(stack.env)
    stack.env |= server.env
    restart(stack)
    yield server
    stack.env = before
    restart(stack)
    server.stop()


def restart(stack):
    stack.kill("web")
    stack.kill("writer")
    stack.start_writer()
    stack.start_web()


def test_every_accepted_line_is_there_once(stack, away):
    with senders(stack) as send:
        sender = send("bucket")
        until(stack.bucket_is_away, "the writer to wait for the bucket")
        assert not stack.drained("bucket")
        away.start()
        until(away.objects, "the first objects")
        stack.kill("writer")
        stack.start_writer()
        stack.start_worker()
        with stack.asking_for("logs.merge"):
            until(lambda: stack.query(MERGED), "a merge")
            stack.kill("worker")
        finish(stack, sender)
    assert_exactly_once(stack, sender)
    assert "quarantined" not in stack.counters("bucket")
    stored = {key.removeprefix("site/") for key in away.objects()}
    assert {key for (key,) in stack.query("SELECT key FROM logs_bundle WHERE chunks > 0")} <= stored
    assert stack.query("SELECT count(*) FROM logs_chunk WHERE bundle_id IS NOT NULL") != [(0,)]
