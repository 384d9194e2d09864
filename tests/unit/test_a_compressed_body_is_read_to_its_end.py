"""ingest.inflate: every member, and nothing that was cut or has something behind it."""

import gzip

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from apps.core.errors import BadPayload
from apps.ingest.inflate import InflateLimits, inflate

LIMITS = InflateLimits(max_bytes=8 << 20, max_ratio=200)
PACK = {"gzip": gzip.compress, "zstd": zstandard.compress}
TEXT = b"".join(b"step %d loss %f\n" % (step, step / 7) for step in range(20_000))
both = pytest.mark.parametrize("encoding", PACK)


def streamed(data):
    """zstd without the size in front, as a sender that streams writes it."""
    worker = zstandard.ZstdCompressor(write_content_size=False).compressobj()
    return worker.compress(data) + worker.flush()


@both
def test_long_bodies_come_back_whole(encoding):
    assert inflate(PACK[encoding](TEXT), encoding, LIMITS) == TEXT


def test_so_do_bodies_that_do_not_say_their_size():
    assert inflate(streamed(TEXT), "zstd", LIMITS) == TEXT


@both
@given(parts=st.lists(st.binary(max_size=2000), min_size=1, max_size=5))
def test_members_back_to_back_are_joined(encoding, parts):
    packed = b"".join(PACK[encoding](part) for part in parts)
    assert inflate(packed, encoding, LIMITS) == b"".join(parts)


@both
@pytest.mark.parametrize("kept", [0, 1, 1024, -1])
def test_a_cut_body_is_refused(encoding, kept):
    with pytest.raises(BadPayload, match=f"not a {encoding} body: the body ends early"):
        inflate(PACK[encoding](TEXT)[:kept], encoding, LIMITS)


@both
def test_a_cut_second_member_is_refused_too(encoding):
    packed = PACK[encoding](TEXT)
    with pytest.raises(BadPayload, match="ends early"):
        inflate(packed + packed[:-1], encoding, LIMITS)


@both
def test_garbage_behind_a_member_is_refused(encoding):
    with pytest.raises(BadPayload, match=f"not a {encoding} body"):
        inflate(PACK[encoding](TEXT) + b"garbage", encoding, LIMITS)


@both
def test_the_bound_is_for_all_members_together(encoding):
    packed = PACK[encoding](TEXT)
    with pytest.raises(BadPayload, match="inflates beyond"):
        inflate(packed * 2, encoding, InflateLimits(len(TEXT) * 2 - 1, 10_000))


@both
def test_a_small_body_may_repeat_itself_as_it_likes(encoding):
    assert len(inflate(PACK[encoding](b"\0" * (1 << 20)), encoding, LIMITS)) == 1 << 20
