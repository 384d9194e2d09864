"""core.database.from_url"""

import pytest

from apps.core.database import from_url
from apps.core.errors import AppError


def test_every_part_is_used():
    found = from_url("postgresql://me:p%40ss@db.example:6432/runs%20db")
    names = ("USER", "PASSWORD", "HOST", "PORT", "NAME")
    assert [found[name] for name in names] == ["me", "p@ss", "db.example", "6432", "runs db"]


def test_options_reach_the_driver():
    options = from_url("postgres://db.example/x?sslmode=verify-full&sslrootcert=/ca.pem")["OPTIONS"]
    assert (options["sslmode"], options["sslrootcert"]) == ("verify-full", "/ca.pem")
    assert options["connect_timeout"] == 10


def test_another_database_is_refused():
    with pytest.raises(AppError, match=r'DATABASE_URL: "mysql" is not Postgres; postgresql://'):
        from_url("mysql://db.example/x")
