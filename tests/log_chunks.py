"""Chunks of lines of our own making for the tests of apps/logs/domain."""

from __future__ import annotations

from apps.logs.domain.chunk.chunks import decode_chunk, encode_chunk
from apps.logs.domain.reading.table import LineTable


def table_of(texts, **columns):
    """Lines of one file, one a second, unless columns say otherwise."""
    count = len(texts)
    values = {
        "time_ns": [number * 10**9 for number in range(count)],
        "seq": list(range(count)),
        "channel": ["stderr"] * count,
        "local_rank": [0] * count,
        "rank": [0] * count,
        "severity": [20] * count,
        "step": [None] * count,
        "text": list(texts),
        "message_at": [0] * count,
    } | columns
    return LineTable("file", **values)


def chunk_of(texts, **columns):
    """The same as a decoded chunk."""
    return decode_chunk(encode_chunk([table_of(texts, **columns)])[1])
