import hashlib
import hmac
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.rollbacks.domain.order import (
    BadSignature,
    branch_directory,
    canonical,
    environment,
    etag,
    key_id,
    sign,
    verify,
)

_text = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
_plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | _text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_text, inner, max_size=4),
    max_leaves=12,
)
_payload = st.dictionaries(_text, _plain, max_size=6)
KEY = "a key of the cluster"


@given(_payload, _text)
def test_every_document_is_verified_with_its_key_and_no_other(payload, key):
    assert verify(sign(payload, key), key) == payload
    with pytest.raises(BadSignature):
        verify(sign(payload, key), key + "x")


@given(_payload)
def test_a_launcher_can_check_it_with_the_standard_library(payload):
    document = json.loads(json.dumps(sign(payload, KEY)))
    text = json.dumps(
        document["payload"], sort_keys=True, separators=(",", ":"), ensure_ascii=False
    )
    mac = hmac.new(KEY.encode(), text.encode(), hashlib.sha256).hexdigest()
    assert document["signature"]["value"] == mac


@given(_payload, _text, _plain)
def test_a_changed_field_is_noticed(payload, name, value):
    document = sign(payload, KEY)
    document["payload"] = {**payload, name + "!": value}
    with pytest.raises(BadSignature, match="changed after it was signed"):
        verify(document, KEY)


@pytest.mark.parametrize(
    "document",
    [{}, {"payload": {}}, {"payload": {}, "signature": {}}, {"payload": [], "signature": {}},
     {"payload": {"a": 1.5}, "signature": sign({}, KEY)["signature"]}],
)  # fmt: skip
def test_a_document_of_another_form_is_refused(document):
    with pytest.raises(BadSignature):
        verify(document, KEY)


def test_floats_are_not_signed():
    with pytest.raises(TypeError, match="a float in a signed document"):
        canonical({"a": [{"b": 0.5}]})


def test_the_key_id_does_not_contain_the_key():
    assert len(key_id(KEY)) == 16
    assert key_id(KEY) != key_id(KEY + "x")


def test_the_etag_follows_the_content_only():
    assert etag({"a": 1, "b": 2}) == etag({"b": 2, "a": 1})
    assert etag({"a": 1}) != etag({"a": 2})
    assert etag({}).startswith('"') and etag({}).endswith('"')


@pytest.mark.parametrize(
    ("path", "branch"),
    [
        ("/data/a/checkpoints/step-900", "/data/a/checkpoints.rollback-7"),
        ("/data/a/checkpoints/step-900/", "/data/a/checkpoints.rollback-7"),
        ("s3://bucket/a/ckpt/step-900", "s3://bucket/a/ckpt.rollback-7"),
        ("last.ckpt", "last.ckpt.rollback-7"),
        ("/data/a/ckpt.rollback-3/step-950", "/data/a/ckpt.rollback-7"),
        ("s3://bucket/step-900", "s3://bucket/rollback-7"),
        ("gs://b/base/run/checkpoints/900", "gs://b/base/run.rollback-7/checkpoints"),
        ("/base/run.rollback-3/checkpoints/900", "/base/run.rollback-7/checkpoints"),
    ],
)
def test_the_branch_is_a_new_directory_beside_the_old_one(path, branch):
    assert branch_directory(path, name="rollback-7") == branch


def test_the_environment_is_text():
    assert environment(
        uri="/a/step-9", step=9, branch="/a.rollback-1", path="/a.rollback-1/step-9"
    ) == {
        "CKPT_RESUME_URI": "/a/step-9",
        "CKPT_RESUME_STEP": "9",
        "CKPT_RESUME_PATH": "/a.rollback-1/step-9",
        "CKPT_BRANCH_DIR": "/a.rollback-1",
    }
