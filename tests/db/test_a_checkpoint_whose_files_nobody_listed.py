"""An announcement without a list of files says less than one with it, whatever the order."""

from dataclasses import replace

import pytest

from apps.checkpoints import copies_store, services, store
from apps.core.records import CheckpointSeen
from tests import ckpt_samples

pytestmark = pytest.mark.django_db
RUN = 7
LISTED = CheckpointSeen(100, "/data/step-100", 1_000, 0.5, ckpt_samples.inventory())
UNLISTED = CheckpointSeen(100, "s3://bucket/step-100", 2_000, None, None)
DOUBT = "its path says step 100, the W&B step says 140"


def codes():
    (kept,) = store.checkpoints(RUN)
    return [(f.code, f.fatal) for f in kept.findings]


def test_it_is_kept_and_says_that_nothing_can_be_checked():
    assert services.record(RUN, 0, [UNLISTED]) == 1
    (kept,) = store.checkpoints(RUN)
    assert (kept.path, kept.digest, kept.file_count) == ("s3://bucket/step-100", "", 0)
    assert (kept.level, kept.complete, codes()) == ("listed", False, [("UNCHECKED", False)])


def test_the_first_list_that_comes_is_taken():
    assert services.record(RUN, 0, [UNLISTED, LISTED]) == 2
    (kept,) = store.checkpoints(RUN)
    assert (kept.path, kept.files) == ("/data/step-100", ckpt_samples.inventory())
    assert (kept.level, kept.complete, codes()) == ("committed", True, [])


def test_it_contradicts_no_list_and_names_another_place():
    services.record(RUN, 0, [LISTED])
    before = store.checkpoints(RUN)
    assert services.record(RUN, 0, [UNLISTED, UNLISTED]) == 1
    assert store.checkpoints(RUN) == before
    places = copies_store.of_run(RUN, before)[0, 100]
    assert [(p.uri, p.tier, p.bytes is None, p.complete) for p in places] == [
        ("/data/step-100", "shared", False, True),
        ("s3://bucket/step-100", "bucket", True, False),
    ]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_doubt_about_the_step_is_a_warning_that_is_said_once(order):
    said = [LISTED, replace(LISTED, doubt=DOUBT)]
    services.record(RUN, 0, [said[at] for at in order])
    assert services.record(RUN, 0, [replace(LISTED, doubt=DOUBT)]) == 0
    (kept,) = store.checkpoints(RUN)
    assert (kept.complete, codes()) == (True, [("STEP_MISMATCH", False)])
    assert kept.findings[0].message == DOUBT


def test_a_doubt_outlasts_the_check_of_the_headers():
    services.record(RUN, 0, [replace(LISTED, doubt=DOUBT, metadata=ckpt_samples.metadata())])
    checked = services.verify(RUN, 0, 100)
    assert (checked.level, checked.complete) == ("headers_verified", True)
    assert codes() == [("STEP_MISMATCH", False)]
