"""Each seal of the audit trail covers some entries and the seal before it. Values only."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import astuple
from typing import Any

from apps.accounts.records import AuditRow

START = hashlib.sha256(b"lastgood audit trail").hexdigest()
"""What the first seal builds on."""


def _sealed_fields(row: AuditRow) -> tuple[Any, ...]:
    """All fields; without an address as before addresses were kept, so that older seals fit."""
    fields = astuple(row)
    return fields if row.address else fields[:-1]


def sealed(before: str, rows: Iterable[AuditRow]) -> str:
    """The digest of a seal: SHA-256 over that of the seal before it and every field of its
    entries, oldest first. An entry changed, added or removed later gives another one."""
    digest = hashlib.sha256(before.encode())
    for row in rows:
        line = json.dumps(_sealed_fields(row), sort_keys=True, separators=(",", ":"))
        digest.update(line.encode() + b"\n")
    return digest.hexdigest()
