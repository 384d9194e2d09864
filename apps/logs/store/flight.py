"""Flight recorder dumps of an attempt, as little of them as the verdict needs, and the verdict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
import numpy as np
import zstandard

from apps.core.sql import execute, query
from apps.logs.domain.triage.flight_dump import Dump, Group, Operation
from apps.logs.models import FlightDump, FlightGroup, FlightRecord

GroupKey = tuple[str, int]
_LEVEL = 3
_MAX_BODY_BYTES = 64 << 20
# -- both use the primary key; the row stays locked until the transaction ends
_OPEN = """
    INSERT INTO logs_flightrecord (run_id, attempt, dirty, dumps, changed_ns)
    VALUES (%s, %s, false, 0, %s)
    ON CONFLICT (run_id, attempt) DO UPDATE SET dirty = logs_flightrecord.dirty
    RETURNING dumps
"""
_MARK = """
    UPDATE logs_flightrecord SET dirty = true, dumps = dumps + %s, changed_ns = %s
     WHERE run_id = %s AND attempt = %s
"""


class _Body(msgspec.Struct, frozen=True, array_like=True):
    """pending: group name, group size, seq, name, created_ns, peer."""

    pending: list[tuple[str, int, int, str, int, int | None]]
    enqueued: dict[str, int]
    highest: int
    skipped: int


def open_record(run_id: int, attempt: int, now_ns: int) -> int:
    """Locks the record of an attempt, which it makes if it is new; how many dumps it has."""
    ((dumps,),) = query(_OPEN, [run_id, attempt, now_ns])
    return int(dumps)


def mark_dirty(run_id: int, attempt: int, *, added: int, now_ns: int) -> None:
    """Asks for a new verdict."""
    execute(_MARK, [added, now_ns, run_id, attempt])


def digests(run_id: int, attempt: int, ranks: Iterable[int]) -> dict[int, bytes]:
    """rank -> digest of the dump that is kept of it. -- uses the primary key"""
    rows = FlightDump.objects.filter(run_id=run_id, attempt=attempt, rank__in=list(ranks))
    return {rank: bytes(digest) for rank, digest in rows.values_list("rank", "digest")}


def count_groups(run_id: int, attempt: int) -> int:
    """Process groups that are kept of an attempt. -- uses the primary key"""
    return FlightGroup.objects.filter(run_id=run_id, attempt=attempt).count()


def save_dumps(run_id: int, attempt: int, dumps: Mapping[bytes, Dump]) -> None:
    """Keeps dumps by their digests; a rank's newer one replaces the one that is there."""
    groups = {one.group.key: one.group for dump in dumps.values() for one in dump.pending}
    FlightGroup.objects.bulk_create(
        [_group_row(run_id, attempt, groups[key]) for key in sorted(groups)], ignore_conflicts=True
    )
    FlightDump.objects.bulk_create(
        [
            FlightDump(
                run_id=run_id, attempt=attempt, rank=dump.rank, digest=digest, body=_packed(dump)
            )
            for digest, dump in dumps.items()
        ],
        update_conflicts=True,
        unique_fields=["run_id", "attempt", "rank"],
        update_fields=["digest", "body"],
    )


def _group_row(run_id: int, attempt: int, group: Group) -> FlightGroup:
    ranks = np.array(group.ranks, dtype="<i4").tobytes()
    return FlightGroup(
        run_id=run_id,
        attempt=attempt,
        name=group.name,
        size=len(group.ranks),
        title=group.title,
        ranks=zstandard.compress(ranks, _LEVEL),
    )


def _packed(dump: Dump) -> bytes:
    pending = [
        (*one.group.key, one.seq, one.name, one.created_ns, one.peer) for one in dump.pending
    ]
    body = _Body(pending, dict(dump.enqueued), dump.highest, dump.skipped)
    return zstandard.compress(msgspec.msgpack.encode(body), _LEVEL)


def dumps_of(run_id: int, attempt: int) -> dict[int, Dump]:
    """Every dump of an attempt; they share their groups. -- uses the primary keys"""
    rows = FlightGroup.objects.filter(run_id=run_id, attempt=attempt)
    groups = {
        (name, size): Group(name, title, tuple(_inflated(ranks, "<i4").tolist()))
        for name, size, title, ranks in rows.values_list("name", "size", "title", "ranks")
    }
    found = FlightDump.objects.filter(run_id=run_id, attempt=attempt).order_by("rank")
    return {
        rank: _dump(rank, bytes(body), groups)
        for rank, body in found.values_list("rank", "body").iterator(2_000)
    }


def _inflated(body: Any, form: str) -> np.ndarray[Any, Any]:
    raw = zstandard.decompress(bytes(body), max_output_size=_MAX_BODY_BYTES)
    return np.frombuffer(raw, dtype=form)


def _dump(rank: int, packed: bytes, groups: Mapping[GroupKey, Group]) -> Dump:
    raw = zstandard.decompress(packed, max_output_size=_MAX_BODY_BYTES)
    body = msgspec.msgpack.decode(raw, type=_Body)
    pending = tuple(
        Operation(groups[name, size], seq, what, created_ns, peer)
        for name, size, seq, what, created_ns, peer in body.pending
    )
    return Dump(rank, pending, body.enqueued, body.highest, body.skipped)


def take_dirty() -> tuple[int, int] | None:
    """An attempt whose dumps are to be judged, locked until the transaction ends. A process that
    is at it already is left alone. -- uses ix_flight_dirty"""
    rows = FlightRecord.objects.select_for_update(skip_locked=True).filter(dirty=True)
    found: tuple[int, int] | None = rows.values_list("run_id", "attempt").first()
    return found


def save_verdict(run_id: int, attempt: int, verdict: dict[str, Any]) -> None:
    """The verdict on every dump that is there."""
    rows = FlightRecord.objects.filter(run_id=run_id, attempt=attempt)
    rows.update(dirty=False, verdict=verdict)


def record(run_id: int, attempt: int) -> tuple[dict[str, Any] | None, bool] | None:
    """The verdict (None before the first) and whether dumps came since; None without dumps.

    -- uses the primary key
    """
    rows = FlightRecord.objects.filter(run_id=run_id, attempt=attempt)
    return rows.values_list("verdict", "dirty").first()
