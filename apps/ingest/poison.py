"""Entries that must leave the stream without being written: kept in quarantine, never dropped."""

from __future__ import annotations

import hashlib

from django.db import transaction

from apps.core.errors import AppError
from apps.ingest import store
from apps.ingest.envelope import Envelope
from apps.ingest.stream import Entry

UNREAD = "unknown"
"""Endpoint of an entry that is no envelope; its body is the whole entry."""


def park(entry: Entry, error: AppError, envelope: Envelope | None = None) -> None:
    """Keeps the entry's bytes with the reason. Acknowledge it afterwards."""
    digest = hashlib.sha256(entry.data).hexdigest()
    kept = envelope or Envelope(
        version=1,
        batch_id=f"entry:{digest}",
        endpoint=UNREAD,
        encoding="identity",
        run_id=0,
        run_key="",
        token="",
        received_ns=int(entry.id.split("-")[0]) * 1_000_000,
        body=entry.data,
    )
    with transaction.atomic():
        if store.quarantine(kept, error):
            store.count(kept.run_id, {"quarantined": 1})
