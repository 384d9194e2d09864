from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.checkpoints.domain.places import attempt_at, key_of, place, tier_of


@pytest.mark.parametrize(
    ("uri", "spelled", "tier"),
    [
        ("/fs/run/step-100/", "/fs/run/step-100", "shared"),
        ("file:///fs/run/./step-100", "/fs/run/step-100", "shared"),
        ("/fs//run/x/../step-100", "/fs/run/step-100", "shared"),
        ("s3://bucket/run/step-100/", "s3://bucket/run/step-100", "bucket"),
        ("gs://bucket/a//b", "gs://bucket/a//b", "bucket"),
        ("/local_nvme/step-1", "/local_nvme/step-1", "local"),
        ("/mnt/nvme0/step-1", "/mnt/nvme0/step-1", "local"),
        ("/raid0/step-1", "/raid0/step-1", "local"),
        ("/nvmefiles.d/step-1", "/nvmefiles.d/step-1", "shared"),
        ("out/checkpoint-9/", "out/checkpoint-9", "shared"),
    ],
)
def test_an_address_is_spelled_one_way(uri, spelled, tier):
    assert (place(uri), tier_of(uri).value) == (spelled, tier)


@given(st.text())
def test_any_text_has_a_place_that_stays(uri):
    assert place(place(uri)) == place(uri)
    assert len(key_of(uri)) == 64


def launched(number, started_ns, first_step):
    return SimpleNamespace(number=number, started_ns=started_ns, first_step=first_step)


@pytest.mark.parametrize(
    ("step", "saved_at_ns", "attempt"),
    [(100, 500, 0), (100, 2_500, 0), (700, 2_500, 1), (700, 50, 0), (900, 9_000, 2)],
)
def test_a_checkpoint_is_of_the_attempt_that_ran_then_and_there(step, saved_at_ns, attempt):
    attempts = [launched(0, 100, 1), launched(1, 1_000, 601), launched(2, 5_000, None)]
    assert attempt_at(step, saved_at_ns, attempts) == attempt


def test_without_an_attempt_it_is_the_first():
    assert attempt_at(5, 5, []) == 0
