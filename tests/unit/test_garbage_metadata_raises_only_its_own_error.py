import pickle
from contextlib import suppress

from hypothesis import example, given, settings
from hypothesis import strategies as st

from apps.checkpoints.domain.dcp_metadata import parse_metadata
from apps.checkpoints.domain.verify import verify
from apps.core.pickles import PickleRefused
from tests import ckpt_samples

_plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
    max_leaves=20,
)
_opcodes = st.sampled_from(
    [bytes([code]) for code in b".(NJKMGXCt]ae}su)cRbhjqr" + bytes(range(0x80, 0x98))]
)


@given(st.binary(max_size=400))
@example(b"")
@example(b".")
@example(b"\x80\x04.")
def test_random_bytes(content):
    with suppress(PickleRefused):
        parse_metadata(content)


@given(st.lists(_opcodes | st.binary(max_size=4), max_size=60).map(b"".join))
def test_random_opcodes(content):
    with suppress(PickleRefused):
        parse_metadata(content)


@given(_plain, st.integers(min_value=2, max_value=5))
def test_pickles_of_other_things(value, protocol):
    with suppress(PickleRefused):
        parse_metadata(pickle.dumps(value, protocol=protocol))


@settings(max_examples=40, deadline=None)
@given(st.integers(min_value=0, max_value=46_537), st.integers(min_value=0, max_value=255))
def test_a_real_file_with_one_wrong_byte_is_never_an_exception(position, byte):
    content = bytearray(ckpt_samples.metadata())
    content[position] = byte
    found = verify(ckpt_samples.inventory(), bytes(content))
    assert found.level in ("committed", "headers_verified")
