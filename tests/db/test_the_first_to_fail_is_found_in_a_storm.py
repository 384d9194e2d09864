"""logs.services.triage when more lines complain than it reads; measured by workers.benches."""

import pytest

from apps.logs.store import event_rows
from apps.runs import store as runs
from workers.benches.triagestorm import Storm, in_memory, in_postgres

pytestmark = pytest.mark.django_db

STORM = Storm(ranks=32, lines=12)


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """Far fewer lines than the storm has."""
    monkeypatch.setattr("apps.logs.store.triage.MAX_EVENTS", 20)


def test_the_first_line_is_not_pushed_out_by_thousands_of_later_ones():
    assert in_postgres(STORM)["verdict_right"] == 1


def test_the_rule_alone_names_the_same_rank():
    assert in_memory(STORM)["rule_right"] == 1


def test_never_more_is_read_than_the_limit_and_the_guilty_rank_is_not_left_out(monkeypatch):
    in_postgres(STORM)
    monkeypatch.setattr("apps.logs.store.triage.MAX_SAMPLED", 130)
    rows = event_rows(runs.ensure_run("storm"), 0, [])
    assert len(rows) == 130
    assert any("uncorrectable ECC" in row.message for row in rows)
