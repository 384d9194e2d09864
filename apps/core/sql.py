"""Small SQL pieces that Django does not have."""

from __future__ import annotations

from django.db.models import BigIntegerField, Func, Value


class NextVal(Func):
    """The next value of a Postgres sequence, as a database default.

    The sequence is created by the migration of the table that uses it.
    """

    function = "nextval"
    output_field = BigIntegerField()

    def __init__(self, sequence: str) -> None:
        super().__init__(Value(sequence))
