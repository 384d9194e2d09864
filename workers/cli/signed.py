"""A signed resume point, checked with the standard library alone; docs/orders.md has the rules."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from typing import Any

from workers.cli.server import Trouble

ALGORITHM = "HMAC-SHA256"


def verified(document: Mapping[str, Any], key: str, run: str) -> dict[str, Any]:
    """The payload of a document that `key` signed for `run`. Raises Trouble for any other."""
    payload, signature = document.get("payload"), document.get("signature")
    if not isinstance(payload, dict) or not isinstance(signature, dict):
        raise Trouble("this is no signed resume point", hint="is the address that of Lastgood?")
    if signature.get("algorithm") != ALGORITHM:
        raise Trouble(f"signed with {signature.get('algorithm')}, not with {ALGORITHM}")
    text = json.dumps(payload, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    expected = hmac.new(key.encode(), text.encode(), hashlib.sha256).hexdigest()
    if not hmac.compare_digest(expected, str(signature.get("value"))):
        raise Trouble(
            "the signature does not fit: the document was changed, or the key is another one",
            hint="the key is ORDER_SIGNING_KEY of the server; nothing was done",
        )
    if payload.get("run") != run:
        raise Trouble(f"this is the resume point of {payload.get('run')}, not of {run}")
    return payload
