"""Where the bytes of chunks are: in their rows, or in objects of a bucket (LOGS_BUCKET).

One object holds the bodies that are put together. The object is written before its rows; rows are
deleted before their object. What a kill leaves between the two is found by sweep.py.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from uuid import uuid4

from apps.core.clock import now_ns
from apps.core.errors import AppError
from apps.core.sql import execute, query
from apps.logs.store import trouble
from apps.logs.store.bucket import Bucket, BucketAway, ObjectGone, bucket

MAX_OBJECT_BYTES = 32 << 20
"""Of an object that holds several bodies: it is put, and may be tried again, in one piece."""
HOUR_NS = 3_600_000_000_000


@dataclass(frozen=True, slots=True)
class Place:
    """Where one body is: in the row (`body`), or `size_bytes` from `at` on in a bundle.

    The fields are columns of models.Chunk.
    """

    body: bytes | None
    size_bytes: int
    bundle_id: int | None = None
    at: int = 0


def put(run_id: int, bodies: Sequence[bytes]) -> list[Place]:
    """Keeps bodies, in order; in the caller's transaction. Raises BucketAway."""
    store = bucket()
    if store is None:
        return [Place(body, len(body)) for body in bodies]
    return [place for group in _groups(bodies) for place in _put_bundle(store, run_id, group)]


def _groups(bodies: Sequence[bytes]) -> Iterator[list[bytes]]:
    """Bodies that share an object."""
    group: list[bytes] = []
    size = 0
    for body in bodies:
        if group and size + len(body) > MAX_OBJECT_BYTES:
            yield group
            group, size = [], 0
        group.append(body)
        size += len(body)
    if group:
        yield group


def _put_bundle(store: Bucket, run_id: int, bodies: Sequence[bytes]) -> Iterator[Place]:
    key = new_key(run_id, now_ns())
    data = b"".join(bodies)
    with trouble.noted():
        store.put(key, data)
    rows = query(
        "INSERT INTO logs_bundle (run_id, key, size_bytes, chunks) VALUES (%s, %s, %s, %s)"
        " RETURNING bundle_id",
        [run_id, key, len(data), len(bodies)],
    )
    at = 0
    for body in bodies:
        yield Place(None, len(body), rows[0][0], at)
        at += len(body)


def new_key(run_id: int, at_ns: int) -> str:
    """Key of a new object. By hour first: a sweep looks through the hours it has not seen."""
    return f"chunks/{hour_of(at_ns)}/{run_id}/{uuid4().hex}"


def hour_of(at_ns: int) -> int:
    """Hours since 1970."""
    return at_ns // HOUR_NS


def get(run_id: int, places: Sequence[Place]) -> list[bytes]:
    """The bodies of chunks of one run, in order.

    Raises BucketAway, and AppError where an object is gone for good.
    """
    wanted: dict[int, list[int]] = defaultdict(list)
    for number, place in enumerate(places):
        if place.body is None and place.bundle_id is not None:
            wanted[place.bundle_id].append(number)
    bodies = [place.body or b"" for place in places]
    keys = _keys(run_id, list(wanted)) if wanted else {}
    for bundle_id, numbers in wanted.items():
        spans = [(places[number].at, places[number].size_bytes) for number in numbers]
        for number, body in zip(numbers, _read(keys.get(bundle_id, ""), spans), strict=True):
            bodies[number] = body
    return bodies


def _read(key: str, spans: Sequence[tuple[int, int]]) -> list[bytes]:
    store = bucket()
    if store is None:
        raise BucketAway("these lines are in a bucket and LOGS_BUCKET is not set")
    try:
        return store.ranges(key, spans)
    except ObjectGone as error:
        hint = "somebody deleted it from outside: restore it from a copy of the bucket"
        raise AppError("an object of the log store is gone", where=key, hint=hint) from error


def _keys(run_id: int, bundle_ids: Sequence[int]) -> dict[int, str]:
    """bundle id -> key. -- uses the primary key"""
    sql = "SELECT bundle_id, key FROM logs_bundle WHERE run_id = %s AND bundle_id = ANY(%s)"
    return dict(query(sql, [run_id, list(bundle_ids)]))


def release(run_id: int, chunks: Mapping[int, int]) -> None:
    """Says that so many chunks of each bundle were deleted; in that transaction.

    A bundle without chunks is deleted by the sweep, after the readers of that moment are done.
    """
    sql = """
        UPDATE logs_bundle AS b SET chunks = b.chunks - n.less,
          dropped_at = CASE WHEN b.chunks = n.less THEN now() END
        FROM unnest(%s::int8[], %s::int4[]) AS n (bundle_id, less)
        WHERE b.run_id = %s AND b.bundle_id = n.bundle_id
    """
    if chunks:
        ordered = sorted(chunks.items())
        ids, less = [bundle for bundle, _ in ordered], [count for _, count in ordered]
        execute(sql, [ids, less, run_id])


def check_bucket() -> None:
    """Raises BucketAway if bodies cannot be kept now."""
    store = bucket()
    if store is not None:
        with trouble.noted():
            store.check()
