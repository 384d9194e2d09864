"""Which indexes Postgres uses for the statements of a store function."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext


def grown_by(statements: str) -> Any:
    """A fixture: many rows and statistics about them, for all tests of a file, gone after it."""

    @pytest.fixture(scope="module")
    def grown(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
        with django_db_blocker.unblock(), transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute(statements)
            yield
            transaction.set_rollback(True)

    return grown


def plan_of(function: Callable[..., Any], *args: Any) -> str:
    """The plans of all statements that `function(*args)` runs, one after the other.

    Asked is which index serves a statement where the table is large: a whole table is read only
    where none does. How many pages a table of the test has depends on the tests before.
    """
    with CaptureQueriesContext(connection) as found:
        function(*args)
    asked = [q["sql"] for q in found if re.match(r"\s*(SELECT|DELETE|UPDATE|WITH)", q["sql"])]
    with connection.cursor() as cursor:
        plans = [_explain(cursor, sql) for sql in asked]
    assert plans, "no statement was run"
    return "\n".join(plans)


def _explain(cursor: Any, sql: str) -> str:
    cursor.execute("SET enable_seqscan = off")
    cursor.execute(f"EXPLAIN {sql}")
    plan = "\n".join(line for (line,) in cursor.fetchall())
    cursor.execute("RESET enable_seqscan")
    return plan
