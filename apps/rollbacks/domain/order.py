"""The rollback order as a document: canonical JSON, signed, checkable by any launcher."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping
from typing import Any

import orjson

from apps.core.errors import AppError

ALGORITHM = "HMAC-SHA256"
_BRANCHED = re.compile(r"\.rollback-\d+$")


class BadSignature(AppError):
    """The document was not signed with this key, or was changed afterwards."""


def canonical(payload: Mapping[str, Any]) -> bytes:
    """The bytes that are signed: UTF-8 JSON, keys sorted, no spaces, no floats.

    The same as Python's json.dumps(payload, sort_keys=True, separators=(",", ":"),
    ensure_ascii=False). Floats are refused (TypeError): their text differs between languages.
    """
    _refuse_floats(payload)
    return orjson.dumps(payload, option=orjson.OPT_SORT_KEYS)


def key_id(key: str) -> str:
    """16 hex digits that name a key without revealing it."""
    return hashlib.sha256(b"lastgood order key id\x00" + key.encode()).hexdigest()[:16]


def sign(payload: Mapping[str, Any], key: str) -> dict[str, Any]:
    """{"payload": ..., "signature": {"algorithm", "key_id", "value"}}; value in hex."""
    return {
        "payload": dict(payload),
        "signature": {"algorithm": ALGORITHM, "key_id": key_id(key), "value": _mac(payload, key)},
    }


def verify(document: Mapping[str, Any], key: str) -> dict[str, Any]:
    """The payload of a document that `key` signed. Raises BadSignature for any other."""
    payload, signature = document.get("payload"), document.get("signature")
    if not isinstance(payload, dict) or not isinstance(signature, dict):
        raise BadSignature("no payload or no signature", hint="fetch the order again")
    if signature.get("algorithm") != ALGORITHM or signature.get("key_id") != key_id(key):
        raise BadSignature(
            f"signed with {signature.get('algorithm')} key {signature.get('key_id')}",
            hint=f"this side knows {ALGORITHM} key {key_id(key)}",
            where="signature",
        )
    try:
        expected = _mac(payload, key)
    except TypeError as error:
        raise BadSignature(f"a payload that cannot be signed: {error}") from error
    if not hmac.compare_digest(expected.encode(), str(signature.get("value")).encode()):
        raise BadSignature("the order was changed after it was signed", where="signature.value")
    return payload


def etag(document: Mapping[str, Any]) -> str:
    """A strong ETag, with its quotes: equal exactly for equal content."""
    return f'"{hashlib.sha256(orjson.dumps(document, option=orjson.OPT_SORT_KEYS)).hexdigest()}"'


def branch_directory(checkpoint: str, *, name: str) -> str:
    """A new directory beside the one that holds the checkpoint, for all saves of the new branch.

    checkpoint: path or URI of the step directory; "/data/a/checkpoints/step-900" with name
    "rollback-7" gives "/data/a/checkpoints.rollback-7". Saving into the old directory would let
    the next automatic restart pick the abandoned branch. A branch of a branch does not grow longer
    names. MaxText saves below <run name>/checkpoints, so there the run gets the new name. A bucket
    keeps its name.
    """
    parent, _, step = checkpoint.rstrip("/").rpartition("/")
    if not parent or parent.endswith(":/"):
        return f"{checkpoint.rstrip('/')}.{name}"
    above, _, folder = parent.rpartition("/")
    if above.endswith(":/"):
        return f"{parent}/{name}"
    if folder == "checkpoints" and step.isdigit() and above:
        return f"{_unbranched(above)}.{name}/{folder}"
    return f"{_unbranched(parent)}.{name}"


def _unbranched(path: str) -> str:
    return _BRANCHED.sub("", path)


def environment(*, uri: str, step: int, branch: str, path: str) -> dict[str, str]:
    """What a launcher sets in the environment of the new start.

    uri: where the checkpoint was saved. path: where the start finds it, inside of the branch
    directory once that is prepared.
    """
    return {
        "CKPT_RESUME_URI": uri,
        "CKPT_RESUME_STEP": str(step),
        "CKPT_RESUME_PATH": path,
        "CKPT_BRANCH_DIR": branch,
    }


def _mac(payload: Mapping[str, Any], key: str) -> str:
    return hmac.new(key.encode(), canonical(payload), hashlib.sha256).hexdigest()


def _refuse_floats(value: Any) -> None:
    if isinstance(value, float):
        raise TypeError("a float in a signed document; send it as an integer or as text")
    if isinstance(value, Mapping):
        for item in value.values():
            _refuse_floats(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _refuse_floats(item)
