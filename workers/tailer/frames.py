"""Bodies as the server's doors expect them (docs/ingest.md): a batch, ready to be kept and sent."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
import zstandard

from workers.tailer.followed import Place

LEVEL = 3


@dataclass(frozen=True, slots=True)
class Batch:
    """One body and the places its files have reached with it.

    endpoint: logs, wandb or checkpoints. batch_id: from the content, so that the same bytes are
    the same batch. body: zstd. lines: of logs. places: path -> place behind this batch.
    """

    run: str
    endpoint: str
    batch_id: str
    body: bytes
    raw_bytes: int
    lines: int
    places: Mapping[str, Place]


@dataclass(frozen=True, slots=True)
class Content:
    """What goes into a batch: header, raw data behind it, and what it counts as."""

    endpoint: str
    header: Mapping[str, Any]
    data: Sequence[bytes]
    lines: int


def pack(run: str, content: Content, places: Mapping[str, Place]) -> Batch:
    """The batch of `content`: header line, newline, data, compressed.

    A checkpoint body is JSON alone. The id does not depend on where or when it is packed.
    """
    raw = orjson.dumps(content.header)
    if content.endpoint != "checkpoints":
        raw = b"".join([raw, b"\n", *content.data])
    digest = hashlib.sha256(f"{run}\0{content.endpoint}\0".encode() + raw).hexdigest()
    return Batch(
        run=run,
        endpoint=content.endpoint,
        batch_id=f"{content.endpoint}-{digest[:48]}",
        body=zstandard.ZstdCompressor(level=LEVEL).compress(raw),
        raw_bytes=len(raw),
        lines=content.lines,
        places=places,
    )
