"""Every statement about the kept files of W&B runs."""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from dataclasses import dataclass
from datetime import datetime

import zstandard
from django.db import connection
from django.utils import timezone

from apps.ingest.models import WandbUpload


@dataclass(frozen=True, slots=True)
class UploadInfo:
    """A kept file without its content. md5: base64, as W&B writes it."""

    name: str
    attempt: int
    content_bytes: int
    md5: str
    uploaded_at: datetime


@dataclass(frozen=True, slots=True)
class Upload:
    """A kept file."""

    info: UploadInfo
    content: bytes


def put(run_id: int, attempt: int, name: str, content: bytes) -> None:
    """Keeps a file; the one of this name and attempt is replaced."""
    md5 = hashlib.md5(content, usedforsecurity=False).digest()
    WandbUpload.objects.update_or_create(
        run_id=run_id,
        attempt=attempt,
        name=name,
        defaults={
            "content": zstandard.ZstdCompressor(level=3).compress(content),
            "content_bytes": len(content),
            "md5": base64.b64encode(md5).decode(),
            "uploaded_at": timezone.now(),
        },
    )


def newest(run_id: int) -> list[UploadInfo]:
    """The files of a run by name, each of its newest attempt. -- uses the primary key"""
    rows = WandbUpload.objects.filter(run_id=run_id).defer("content")
    return [_info(row) for row in rows.order_by("name", "-attempt").distinct("name")[:100]]


def get(run_id: int, name: str) -> Upload | None:
    """The file of this name of the newest attempt that has one. -- uses the primary key"""
    rows = WandbUpload.objects.filter(run_id=run_id, name=name)
    row = rows.order_by("-attempt").first()
    if row is None:
        return None
    unpacked = zstandard.ZstdDecompressor().decompress(
        bytes(row.content), max_output_size=row.content_bytes
    )
    return Upload(_info(row), unpacked)


def _info(row: WandbUpload) -> UploadInfo:
    return UploadInfo(row.name, row.attempt, row.content_bytes, row.md5, row.uploaded_at)


def forget(before: datetime, limit: int = 1_000) -> dict[int, int]:
    """Drops up to `limit` files that were uploaded before a time: run id -> how many."""
    sql = """
        DELETE FROM ingest_wandbupload WHERE (run_id, attempt, name) IN (
          SELECT run_id, attempt, name FROM ingest_wandbupload WHERE uploaded_at < %s LIMIT %s)
          RETURNING run_id
    """
    with connection.cursor() as cursor:
        cursor.execute(sql, [before, limit])
        return dict(Counter(row[0] for row in cursor.fetchall()))
