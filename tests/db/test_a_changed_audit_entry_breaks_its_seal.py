"""accounts.chain: entries are sealed behind the writers; what is changed later does not fit."""

import pytest
from django.db import connections, transaction

from apps.accounts import chain, seal_store, services
from apps.accounts.domain.chain import START, sealed
from apps.accounts.models import AuditEntry, AuditSeal
from apps.accounts.records import SYSTEM, AuditRow

pytestmark = pytest.mark.django_db


@pytest.fixture
def trail():
    """Six entries in three seals."""
    for number in range(6):
        services.audit(SYSTEM, f"act.{number}", "x", before={"a": 1.5}, after={"b": [number]})
        if number % 2:
            chain.grow(1_000 + number)


def broken(now_ns=9_000):
    chain.check(now_ns)
    return [seal.number for seal in seal_store.state().broken]


def test_a_trail_that_nobody_touched_is_intact(trail):
    assert broken() == []
    found = seal_store.state()
    assert (found.seals, found.rows, found.checked_ns, found.head.number) == (3, 6, 9_000, 3)


def test_a_seal_made_by_an_earlier_version_still_fits():
    """The digest was made by the first version that sealed: never change it here."""
    before, after = {"owner": ""}, {"owner": "ada"}
    row = AuditRow(1, 2, "user:ada", "run.owned", "run r", before, after, "my shift", 3, "r-1")
    digest = "df40baa7a6dcd0f67b1d2101249ac2e95a5f100de4115461734ecf58a2b2e43c"
    assert sealed(START, [row]) == digest


def test_an_address_is_sealed_with_its_entry():
    services.audit(SYSTEM.at("10.0.0.7"), "act", "x")
    chain.grow(1_000)
    assert broken() == []
    AuditEntry.objects.update(address="")
    assert broken() == [1]


def test_nothing_new_makes_no_seal(trail):
    assert chain.grow(5_000) == 0


@pytest.mark.parametrize("field", ["actor", "action", "object", "reason", "request_id", "address"])
def test_an_entry_that_was_changed_is_found(trail, field):
    AuditEntry.objects.filter(action="act.2").update(**{field: "y"})
    assert broken() == [2]


def test_an_entry_that_was_removed_is_found(trail):
    AuditEntry.objects.filter(action="act.2").delete()
    assert broken() == [2]


def test_an_entry_that_was_slipped_in_is_found(trail):
    last_id = AuditSeal.objects.get(number=1).last_id
    AuditEntry.objects.create(run_id=7, id=last_id, at_ns=1, actor="eve", action="x", object="x")
    assert broken() == [1]


def test_a_seal_that_was_made_anew_does_not_fit_the_next(trail):
    AuditSeal.objects.filter(number=2).update(digest="0" * 64)
    assert broken() == [2, 3]


def test_the_seal_not_checked_for_longest_is_next(trail, monkeypatch):
    monkeypatch.setattr(chain, "CHECK_SEALS", 1)
    for moment in (2_001, 2_002):
        chain.check(moment)
    checked = AuditSeal.objects.order_by("number").values_list("checked_at_ns", flat=True)
    assert list(checked) == [2_001, 2_002, 1_005]


@pytest.mark.parametrize(("rows", "checked"), [(1, 1), (4, 2), (6, 3)])
def test_a_check_reads_so_many_entries_and_one_seal_at_least(trail, monkeypatch, rows, checked):
    """A long trail is sealed in large pieces: two hundred of them were a million entries."""
    monkeypatch.setattr(chain, "CHECK_ROWS", rows)
    assert chain.check(2_000) == (checked, 0)


@pytest.mark.django_db(transaction=True)
def test_nothing_is_sealed_while_an_entry_is_being_written():
    other = connections.create_connection("default")
    services.audit(SYSTEM, "act.early", "x")
    try:
        other.set_autocommit(False)
        with other.cursor() as cursor:
            cursor.execute("LOCK TABLE accounts_auditentry IN ROW EXCLUSIVE MODE")
            assert chain.grow(1_000) == 0
            other.rollback()
        with transaction.atomic():
            assert chain.grow(2_000) == 1
    finally:
        other.close()
