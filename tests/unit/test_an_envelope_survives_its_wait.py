"""ingest.envelope"""

import hashlib

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.errors import BadPayload
from apps.ingest.envelope import batch_id, pack, unpack
from tests.factories import envelope


@given(body=st.binary(max_size=200))
def test_every_byte_comes_back(body):
    sent = envelope("logs", body, run_id=3, encoding="zstd", batch="b-1")
    assert unpack(pack(sent)) == sent


@pytest.mark.parametrize(
    "data", [b"", b"\xc1", msgspec.msgpack.encode([1, "x"]), msgspec.msgpack.encode({"a": 1})]
)
def test_anything_else_is_a_bad_payload(data):
    with pytest.raises(BadPayload, match="stream entry: not an envelope"):
        unpack(data)


def test_a_layout_of_another_version_is_not_misread():
    fields = msgspec.msgpack.decode(pack(envelope("logs", b"", run_id=1)))
    with pytest.raises(BadPayload, match=r"Invalid enum value 2 - at `\$\[0\]`"):
        unpack(msgspec.msgpack.encode([2, *fields[1:]]))


def made(given=None, endpoint="logs", run_key="r", body=b"x"):
    return batch_id(given, endpoint=endpoint, run_key=run_key, body=body)


@pytest.mark.parametrize("given", ["a", "A.b_c:d-9", "x" * 128])
def test_the_clients_batch_id_is_kept(given):
    assert made(given) == given


@pytest.mark.parametrize("given", ["", "a b", "x" * 129, "é", "a\n"])
def test_a_malformed_batch_id_is_refused(given):
    with pytest.raises(BadPayload, match="X-Batch-Id: malformed batch id"):
        made(given)


def test_without_one_it_is_the_hash_of_door_run_and_body():
    assert made() == "sha256:" + hashlib.sha256(b"logs\0r\0x").hexdigest()
    assert len({made(), made(endpoint="wandb"), made(run_key="s"), made(body=b"y")}) == 4
