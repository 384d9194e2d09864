"""Bodies of one process that follow each other as the one body they could have been. Pure.

A busy writer finds many bodies of a run at once. Joined they cost the statements of one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from apps.ingest.wandb.lines import NUMBERED, SUMMARY, Piece, StreamBatch
from apps.ingest.wandb.said import WandbBody

MOST_SIZE: Final = 8 << 20
"""Characters of lines, or bytes of records, in a joined body: bounds memory."""


def join_streams(whole: StreamBatch, batch: StreamBatch) -> StreamBatch | None:
    """Both as one; None if lines are missing or repeated between them, or it would be too large.

    A body that ends its process stays alone: the process ended when it came, not before.
    """
    ends = batch.exit_code is not None or whole.exit_code is not None
    if ends or whole.preempting or _chars(whole) + _chars(batch) > MOST_SIZE:
        return None
    pieces = {piece.file: piece for piece in whole.pieces}
    for piece in batch.pieces:
        before = pieces.get(piece.file)
        if before is None or piece.file == SUMMARY:
            pieces[piece.file] = piece
        elif piece.file in NUMBERED and piece.offset == before.offset + len(before.lines):
            pieces[piece.file] = Piece(piece.file, before.offset, before.lines + piece.lines)
        else:
            return None
    return StreamBatch(tuple(pieces.values()), None, batch.preempting)


def _chars(batch: StreamBatch) -> int:
    return sum(sum(map(len, piece.lines)) for piece in batch.pieces)


def join_records(whole: WandbBody, body: WandbBody) -> WandbBody | None:
    """Both as one; None if they are of two files or no neighbours, or it would be too large."""
    follows = replace(
        whole,
        first_record=whole.first_record + len(whole.records),
        records=body.records,
        damaged=body.damaged,
    )
    size = sum(map(len, whole.records)) + sum(map(len, body.records))
    if body != follows or size > MOST_SIZE:
        return None
    return replace(
        whole, records=whole.records + body.records, damaged=whole.damaged + body.damaged
    )
