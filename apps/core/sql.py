"""Small SQL pieces that Django does not have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
from django.db import connection, transaction
from django.db.models import BigIntegerField, Func, Value


class NextVal(Func):
    """The next value of a Postgres sequence, as a database default.

    The sequence is created by the migration of the table that uses it.
    """

    function = "nextval"
    output_field = BigIntegerField()

    def __init__(self, sequence: str) -> None:
        super().__init__(Value(sequence))


def query(sql: str, params: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    """All rows of a statement; the statement itself sets their limit."""
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return list(cursor.fetchall())


def query_bytes(sql: str, params: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    """The same for rows that hold large bytea values: they come as they are, not as text in hex.

    A quarter of the time for chunks of logs.
    """
    with connection.cursor() as cursor:
        whole = cursor.mogrify(sql, params)
    plain: Any = psycopg.Cursor(connection.connection)
    plain.format = psycopg.pq.Format.BINARY
    wrap = connection.make_debug_cursor if connection.queries_logged else connection.make_cursor
    with wrap(plain) as binary:
        binary.execute(whole)
        return list(binary.fetchall())


def one_at_a_time(what: str) -> None:
    """Holds off everybody else who calls this for the same thing until the transaction ends: what
    is looked up from now on, such as whether a name is taken, stays so."""
    execute("SELECT pg_advisory_xact_lock(hashtext(%s))", [what])


def bigints(values: Iterable[int]) -> str:
    """Whole numbers as the literal of a bigint[], for thousands of them: a list takes longer."""
    return f"{{{','.join(map(str, values))}}}"


def execute(sql: str, params: Sequence[Any] = ()) -> int:
    """Runs a statement without an answer; how many rows it changed."""
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return int(cursor.rowcount)


@contextmanager
def snapshot() -> Iterator[None]:
    """Statements inside see the database of one moment, and may not write.

    Inside a transaction nothing changes: its own isolation holds.
    """
    if connection.in_atomic_block:
        yield
        return
    with transaction.atomic():
        execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield


@contextmanager
def patience(seconds: float) -> Iterator[None]:
    """Each statement inside may take so long; then Postgres ends it with an OperationalError."""
    with transaction.atomic():
        execute("SELECT set_config('statement_timeout', %s, true)", [str(round(seconds * 1e3))])
        yield


def copy_in(table: str, columns: Mapping[str, str], rows: Iterable[Sequence[Any]]) -> None:
    """Rows into a table by binary COPY. columns: name -> Postgres type.

    Names come from the caller's module, never from outside. One statement, whatever the number of
    rows; they are consumed while they are sent.
    """
    sql = f"COPY {table} ({', '.join(columns)}) FROM STDIN (FORMAT BINARY)"
    # Django wraps the errors of `execute`, not those of `copy`: callers know Django's only.
    with connection.cursor() as cursor, connection.wrap_database_errors, cursor.copy(sql) as copy:
        copy.set_types(list(columns.values()))
        for row in rows:
            copy.write_row(row)
