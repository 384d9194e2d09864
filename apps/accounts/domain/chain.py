"""Each seal of the audit trail covers some entries and the seal before it. Values only."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import astuple

from apps.accounts.records import AuditRow

START = hashlib.sha256(b"lastgood audit trail").hexdigest()
"""What the first seal builds on."""


def sealed(before: str, rows: Iterable[AuditRow]) -> str:
    """The digest of a seal: SHA-256 over that of the seal before it and every field of its
    entries, oldest first. An entry changed, added or removed later gives another one."""
    digest = hashlib.sha256(before.encode())
    for row in rows:
        line = json.dumps(astuple(row), sort_keys=True, separators=(",", ":"))
        digest.update(line.encode() + b"\n")
    return digest.hexdigest()
