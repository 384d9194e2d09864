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

    endpoint: logs, wandb, checkpoints, ... batch_id: from the content, so that the same bytes are
    the same batch. body: zstd. lines: of logs. places: path -> place behind this batch. query: of
    its address.
    """

    run: str
    endpoint: str
    batch_id: str
    body: bytes
    raw_bytes: int
    lines: int
    places: Mapping[str, Place]
    query: str = ""


@dataclass(frozen=True, slots=True)
class Content:
    """What goes into a batch: header (empty for a body that has none), raw data behind it, what it
    counts as, and the query of its address."""

    endpoint: str
    header: Mapping[str, Any]
    data: Sequence[bytes]
    lines: int
    query: str = ""


def pack(run: str, content: Content, places: Mapping[str, Place]) -> Batch:
    """The batch of `content`: header line, newline, data, compressed.

    A checkpoint body is JSON alone. The id does not depend on where or when it is packed.
    """
    raw = _raw(content)
    about = f"{run}\0{content.endpoint}{content.query}\0".encode()
    digest = hashlib.sha256(about + raw).hexdigest()
    return Batch(
        run=run,
        endpoint=content.endpoint,
        batch_id=f"{content.endpoint}-{digest[:48]}",
        body=zstandard.ZstdCompressor(level=LEVEL).compress(raw),
        raw_bytes=len(raw),
        lines=content.lines,
        places=places,
        query=content.query,
    )


def _raw(content: Content) -> bytes:
    if not content.header:
        return b"".join(content.data)
    header = orjson.dumps(content.header)
    if content.endpoint == "checkpoints":
        return header
    return b"".join([header, b"\n", *content.data])
