"""ingest.inflate"""

import gzip

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from apps.core.errors import BadPayload
from apps.ingest.inflate import InflateLimits, inflate

LIMITS = InflateLimits(max_bytes=8 << 20, max_ratio=200)
BOMB = b"\0" * (64 << 20)


@pytest.mark.parametrize(
    ("encoding", "body"),
    [("gzip", gzip.compress(BOMB)), ("zstd", zstandard.compress(BOMB)), ("identity", BOMB)],
)
def test_it_names_the_bound_it_broke(encoding, body):
    with pytest.raises(BadPayload, match=r"inflates beyond \d+ bytes"):
        inflate(body, encoding, LIMITS)


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
@given(body=st.binary(max_size=300))
def test_garbage_is_a_bad_payload_or_bytes(encoding, body):
    try:
        assert isinstance(inflate(body, encoding, LIMITS), bytes)
    except BadPayload as error:
        assert error.where == "body"


@given(st.binary(max_size=5000))
def test_honest_bodies_come_back_whole(data):
    assert inflate(gzip.compress(data), "gzip", LIMITS) == data
    assert inflate(zstandard.compress(data), "zstd", LIMITS) == data


def test_a_cut_gzip_body_is_refused():
    with pytest.raises(BadPayload, match="ends early"):
        inflate(gzip.compress(b"x" * 1000)[:-9], "gzip", LIMITS)
