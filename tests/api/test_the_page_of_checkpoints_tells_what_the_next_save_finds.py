"""/runs/<key>/checkpoints/: free space now and at the next save."""

import pytest

from apps.accounts.records import SYSTEM
from apps.checkpoints import roots, roots_store, services
from apps.checkpoints.root_records import Look, Outcome, RootRule
from apps.checkpoints.storage import places
from apps.core.clock import now_ns
from apps.core.records import CheckpointSeen
from apps.runs import store as runs

pytestmark = pytest.mark.django_db
GIB, S = 2**30, 10**9


@pytest.fixture
def root(settings, valkey):
    """A run that has saved a GiB every 1,000 s, the last time 400 s ago."""
    settings.CHECKPOINT_ROOTS = (places.parse("/ckpt"),)
    run_id, now = runs.ensure_run("boat"), now_ns()
    runs.open_attempt(run_id, 0, now - 9_000 * S)
    files = {".metadata": 10, "__0_0.distcp": GIB}
    for n in range(4):
        saved_ns = now - (3_400 - 1_000 * n) * S
        seen = CheckpointSeen(100 * n, f"/ckpt/boat/step-{100 * n}", saved_ns, 5.0, files)
        services.record(run_id, 0, [seen])
    return roots.add(RootRule("/ckpt/boat", run_id, "", "", 300), SYSTEM, now)


def page(operator, root, *free, **found):
    for ago_s, free_bytes in zip(range(100 * len(free), 0, -100), free, strict=True):
        at_ns = now_ns() - ago_s * S
        look = Look(at_ns, files=9, free_bytes=free_bytes, total_bytes=100 * GIB, **found)
        roots_store.finish(root, look, at_ns + 300 * S)
    return " ".join(operator.get("/runs/boat/checkpoints/").content.decode().split())


def test_free_space_now_and_at_the_next_save_is_told(operator, root):
    text = page(operator, root, 50 * GIB, 50 * GIB, 50 * GIB)
    assert "50.0 GiB free. The next save," in text
    assert "needs 1.0 GiB and will find 50.0 GiB." in text


def test_what_others_write_until_then_is_in_it(operator, root):
    """A GiB every 100 s: about six until the save in ten minutes, ten more until the one after."""
    text = page(operator, root, 12 * GIB, 11 * GIB, 10 * GIB)
    assert "as it goes now there is room for 1 save." in text
    assert "does not fit" in page(operator, root, GIB, GIB, GIB // 2)


def test_a_root_that_cannot_be_looked_at_says_why(operator, root):
    text = page(operator, root, None, outcome=Outcome.FAILED, message="permission denied")
    assert "/ckpt/boat</span>: permission denied" in text


def test_a_bucket_has_no_free_space_to_read(operator, root):
    assert "a storage that has no free space to read." in page(operator, root, None)
