"""Every statement against the tables of ingest."""

from __future__ import annotations

from collections import Counter as Counts
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from django.db import connection
from django.db.models import Count, F, Q, Sum

from apps.core.errors import AppError
from apps.core.sql import execute, query
from apps.ingest.envelope import Envelope
from apps.ingest.models import Analysis, Batch, Counter, Quarantine


@dataclass(frozen=True, slots=True)
class Quarantined:
    """One body that could not be written, without its bytes."""

    id: int
    run_id: int
    batch_id: str
    endpoint: str
    token: str
    received_ns: int
    reason: str
    where: str
    hint: str
    body_bytes: int


def claim_batches(run_id: int, batch_ids: Sequence[str]) -> set[str]:
    """Those of the batches that are new; they count as written once the transaction commits."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO ingest_batch (run_id, batch_id, written_at)"
            " SELECT %s, unnest(%s::text[]), now() ON CONFLICT DO NOTHING RETURNING batch_id",
            [run_id, list(batch_ids)],
        )
        return {row[0] for row in cursor.fetchall()}


def quarantine(envelope: Envelope, error: AppError) -> bool:
    """Keeps a body that cannot be written, with the reason; False if it was kept before."""
    sql = """
        INSERT INTO ingest_quarantine (run_id, batch_id, endpoint, encoding, token, received_ns,
          quarantined_at, reason, "where", hint, body, body_bytes,
          attempt, writer)
        VALUES (%s, %s, %s, %s, %s, %s, now(), %s, %s, %s, %s, %s, %s, %s)
        ON CONFLICT (run_id, batch_id) DO NOTHING
    """
    values: list[str | int | bytes | None] = [
        envelope.run_id,
        envelope.batch_id,
        envelope.endpoint,
        envelope.encoding,
        envelope.token,
        envelope.received_ns,
        clean(error.message),
        clean(error.where)[:500],
        clean(error.hint),
        envelope.body,
        len(envelope.body),
        envelope.attempt,
        envelope.writer,
    ]
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return bool(cursor.rowcount == 1)


def clean(text: str) -> str:
    """Text that Postgres can hold."""
    return text.replace("\0", "\\0").encode("utf-8", "replace").decode()


def _quarantined(row: Quarantine) -> Quarantined:
    return Quarantined(
        id=row.id,
        run_id=row.run_id,
        batch_id=row.batch_id,
        endpoint=row.endpoint,
        token=row.token,
        received_ns=row.received_ns,
        reason=row.reason,
        where=row.where,
        hint=row.hint,
        body_bytes=row.body_bytes,
    )


def quarantined(limit: int, before: int | None = None, token: str = "") -> list[Quarantined]:
    """Newest first; token: of one sender, by its name. -- uses ix_quarantine_newest"""
    rows = Quarantine.objects.defer("body").order_by("-id")
    if before is not None:
        rows = rows.filter(id__lt=before)
    if token:
        rows = rows.filter(token=token)
    return [_quarantined(row) for row in rows[: min(limit, 500)]]


@dataclass(frozen=True, slots=True)
class FaultySender:
    """A token with bodies in quarantine: how many, how large, and why the newest one is there."""

    token: str
    bodies: int
    body_bytes: int
    last_ns: int
    reason: str


def faulty_senders(limit: int = 20) -> list[FaultySender]:
    """Those with the most bodies first. Cost: reads the quarantine without its bodies."""
    sql = """
        SELECT s.token, s.bodies, s.size, s.last_ns, newest.reason
          FROM (SELECT token, count(*) AS bodies, sum(body_bytes) AS size,
                       max(received_ns) AS last_ns, max(id) AS newest_id
                  FROM ingest_quarantine GROUP BY token ORDER BY count(*) DESC, token LIMIT %s) AS s
          JOIN ingest_quarantine AS newest ON newest.id = s.newest_id
         ORDER BY s.bodies DESC, s.token
    """
    return [
        FaultySender(token, bodies, int(size), last_ns, reason)
        for token, bodies, size, last_ns, reason in query(sql, [limit])
    ]


def take_quarantined(quarantine_id: int) -> Envelope | None:
    """The entry as it was accepted, without its run key; locked until the transaction ends.

    -- uses ix_quarantine_newest
    """
    row = Quarantine.objects.select_for_update().filter(id=quarantine_id).first()
    if row is None:
        return None
    return Envelope(
        version=1,
        batch_id=row.batch_id,
        endpoint=row.endpoint,
        encoding=row.encoding,
        run_id=row.run_id,
        run_key="",
        token=row.token,
        received_ns=row.received_ns,
        body=bytes(row.body),
        attempt=row.attempt,
        writer=row.writer,
    )


def forget_quarantined(before: datetime, limit: int = 500) -> dict[int, int]:
    """Drops those of the oldest `limit` entries that are from before a time: run id -> how many.

    One that is being sent through again is left alone. -- uses ix_quarantine_newest
    """
    sql = """
        WITH oldest AS MATERIALIZED (  -- in place, it could be run again and lock further rows
          SELECT id FROM ingest_quarantine ORDER BY id LIMIT %s FOR UPDATE SKIP LOCKED)
        DELETE FROM ingest_quarantine WHERE id IN (SELECT id FROM oldest)
          AND quarantined_at < %s RETURNING run_id
    """
    with connection.cursor() as cursor:
        cursor.execute(sql, [limit, before])
        return dict(Counts(row[0] for row in cursor.fetchall()))


def drop_quarantined(run_id: int, quarantine_id: int) -> None:
    """Removes an entry that has been written after all."""
    Quarantine.objects.filter(run_id=run_id, id=quarantine_id).delete()


def quarantined_body(quarantine_id: int) -> tuple[str, bytes] | None:
    """(encoding, body as it was sent) of one entry. -- uses ix_quarantine_newest"""
    row = Quarantine.objects.filter(id=quarantine_id).first()
    return (row.encoding, bytes(row.body)) if row else None


def quarantine_counts(run_ids: Sequence[int]) -> dict[int, int]:
    """run id -> how many of its bodies could not be written. -- uses quarantined_once"""
    rows = Quarantine.objects.filter(run_id__in=run_ids).values("run_id")
    return dict(rows.annotate(n=Count("id")).values_list("run_id", "n"))


def count(run_id: int, counts: Mapping[str, int]) -> None:
    """Adds to the counters of a run; zeros are skipped."""
    sql = """
        INSERT INTO ingest_counter (run_id, name, value, last_at) VALUES (%s, %s, %s, now())
        ON CONFLICT (run_id, name) DO UPDATE
          SET value = ingest_counter.value + EXCLUDED.value, last_at = now()
    """
    rows = [(run_id, clean(name)[:64], value) for name, value in sorted(counts.items()) if value]
    if rows:
        with connection.cursor() as cursor:
            cursor.executemany(sql, rows)


def counters(run_id: int) -> dict[str, int]:
    """name -> how often, of one run. -- uses the primary key"""
    return counters_of([run_id]).get(run_id, {})


def counters_of(run_ids: Sequence[int]) -> dict[int, dict[str, int]]:
    """run id -> name -> how often, at most 200 names a run. -- uses the primary key"""
    found: dict[int, dict[str, int]] = {}
    rows = Counter.objects.filter(run_id__in=run_ids).order_by("run_id", "name")
    for run_id, name, value in rows.values_list("run_id", "name", "value"):
        named = found.setdefault(run_id, {})
        if len(named) < 200:
            named[name] = value
    return found


def written(run_ids: Sequence[int]) -> dict[int, tuple[int, int]]:
    """run id -> (points, log lines) written so far. -- uses the primary key"""
    rows = Counter.objects.filter(run_id__in=run_ids, name__in=("points", "lines"))
    found: dict[int, dict[str, int]] = {}
    for run_id, name, value in rows.values_list("run_id", "name", "value"):
        found.setdefault(run_id, {})[name] = value
    return {run_id: (by.get("points", 0), by.get("lines", 0)) for run_id, by in found.items()}


def counters_of_all() -> dict[str, int]:
    """name -> how often, over all runs."""
    rows = Counter.objects.values("name").annotate(n=Sum("value")).order_by("name")
    return {row["name"]: row["n"] for row in rows[:200]}


def mark_written(run_id: int, attempts: Sequence[int]) -> None:
    """New data of these attempts waits to be analysed."""
    sql = """
        INSERT INTO ingest_analysis (run_id, attempt, written, seen, error)
          VALUES (%s, %s, 1, 0, '')
        ON CONFLICT (run_id, attempt) DO UPDATE SET written = ingest_analysis.written + 1
    """
    with connection.cursor() as cursor:
        for attempt in sorted(set(attempts)):
            cursor.execute(sql, [run_id, attempt])


def analysis_to_do(run_id: int, attempt: int, now_ns: int) -> int | None:
    """The attempt's `written` if there is something to analyse, else None.

    Hold the run's row: then nobody writes or analyses between this answer and end_analysis().
    """
    sql = """
        SELECT written FROM ingest_analysis
         WHERE run_id = %s AND attempt = %s AND (written <> seen OR again_at_ns <= %s)
    """
    found = query(sql, [run_id, attempt, now_ns])
    return int(found[0][0]) if found else None


def end_analysis(
    run_id: int, attempt: int, *, seen: int, now_ns: int, again_at_ns: int | None
) -> None:
    """The attempt is analysed through `seen` batches; look again at again_at_ns if given."""
    execute(
        "UPDATE ingest_analysis SET seen = %s, analysed_ns = %s, again_at_ns = %s, error = ''"
        " WHERE run_id = %s AND attempt = %s",
        [seen, now_ns, again_at_ns, run_id, attempt],
    )


def fail_analysis(run_id: int, attempt: int, *, error: str, again_at_ns: int) -> None:
    """The analysis failed; it is tried again at again_at_ns."""
    Analysis.objects.filter(run_id=run_id, attempt=attempt).update(
        error=clean(error)[:2_000], again_at_ns=again_at_ns
    )


def analysis_due(now_ns: int, limit: int = 100) -> list[tuple[int, int]]:
    """(run, attempt) that have unanalysed data, or an appointment that has come; those that were
    not looked at for longest come first.

    What failed waits for its appointment, whatever arrives. -- uses ix_analysis_due
    """
    left = ~Q(written=F("seen")) & Q(error="")
    rows = Analysis.objects.filter(left | Q(again_at_ns__lte=now_ns))
    # Not by run: the first ones would take the time of those behind.
    fair = rows.order_by(F("analysed_ns").asc(nulls_first=True))
    return list(fair.values_list("run_id", "attempt")[:limit])


@dataclass(slots=True)
class Analyses:
    """How far the attempts of a run are analysed. behind: written batches that are not.

    waits: one asked to be looked at again. errors: (attempt, reason) of those that failed.
    """

    behind: int = 0
    waits: bool = False
    errors: list[tuple[int, str]] = field(default_factory=list)


def analyses_of(run_ids: Sequence[int]) -> dict[int, Analyses]:
    """One for each run, also for those without attempts. -- uses the primary key"""
    found = {run_id: Analyses() for run_id in run_ids}
    for row in Analysis.objects.filter(run_id__in=run_ids).order_by("run_id", "attempt"):
        run = found[row.run_id]
        run.behind += row.written - row.seen
        run.waits |= row.again_at_ns is not None
        if row.error:
            run.errors.append((row.attempt, row.error))
    return found


def wrote(from_ns: int, to_ns: int) -> bool:
    """Whether a batch was written between two times. -- uses ix_batch_age"""
    first, last = (datetime.fromtimestamp(at / 1e9, UTC) for at in (from_ns, to_ns))
    return Batch.objects.filter(written_at__range=(first, last)).exists()


def forget_batches(before: datetime, limit: int = 20_000) -> int:
    """Drops the oldest `limit` dedupe keys from before a time; how many. -- uses ix_batch_age"""
    sql = """
        DELETE FROM ingest_batch WHERE (run_id, batch_id) IN (
          SELECT run_id, batch_id FROM ingest_batch WHERE written_at < %s
          ORDER BY written_at LIMIT %s)
    """
    with connection.cursor() as cursor:
        cursor.execute(sql, [before, limit])
        return int(cursor.rowcount)
