"""The task retention.expire"""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.utils import timezone

from apps.accounts import services as accounts
from apps.accounts.models import LoginLink
from apps.ingest import services as ingest
from apps.ingest import store
from apps.ingest.digest import digest
from apps.ingest.models import Quarantine
from apps.ingest.wandb import uploads
from apps.runs.store import ensure_run
from tests.factories import envelope
from workers.tasks import retention

DAY = timedelta(days=1)


@pytest.fixture
def run_id(db):
    return ensure_run("r")


@pytest.fixture
def quarantined(run_id):
    """Five bodies of one run and one of no run."""
    bodies = [envelope("metrics", f"junk {n}".encode(), run_id=run_id) for n in range(5)]
    digest([*bodies, envelope("nodes", b"junk", run_id=0)])


def at(monkeypatch, moment):
    monkeypatch.setattr(retention.timezone, "now", lambda: moment)


def test_nothing_fresh_is_dropped(quarantined, run_id, client):
    client.force_login(User.objects.create_user("ada"))
    accounts.login_link_secret()
    uploads.keep(run_id, 0, "config.yaml", b"lr: 1")
    assert set(retention.expire().values()) == {0}


def test_old_bodies_leave_quarantine_and_are_counted(quarantined, run_id, monkeypatch):
    at(monkeypatch, timezone.now() + 31 * DAY)
    assert retention.expire()["quarantined bodies"] == 6
    assert store.quarantined(10) == []
    assert store.counters(run_id) == {"quarantine_expired": 5, "quarantined": 5}


def test_only_the_old_ones_leave(quarantined):
    now = timezone.now()
    newest = store.quarantined(1)[0].id
    Quarantine.objects.exclude(id=newest).update(quarantined_at=now - 31 * DAY)
    assert ingest.drop_old_quarantine(now) == 5
    assert [entry.id for entry in store.quarantined(10)] == [newest]


def test_many_are_dropped_a_few_at_a_time(quarantined):
    late = timezone.now() + 31 * DAY
    assert [sum(store.forget_quarantined(late, limit=4).values()) for _ in range(3)] == [4, 2, 0]


def test_zero_days_is_for_ever(quarantined, run_id, settings):
    settings.KEEP_QUARANTINE_DAYS = settings.KEEP_UPLOADS_DAYS = 0
    uploads.keep(run_id, 0, "config.yaml", b"lr: 1")
    late = timezone.now() + 10_000 * DAY
    assert (ingest.drop_old_quarantine(late), uploads.drop_old(late)) == (0, 0)


def test_old_uploads_are_dropped_and_counted(run_id):
    uploads.keep(run_id, 0, "config.yaml", b"lr: 1")
    uploads.keep(run_id, 1, "config.yaml", b"lr: 2")
    assert uploads.drop_old(timezone.now() + 366 * DAY) == 2
    assert uploads.upload(run_id, "config.yaml") is None
    assert store.counters(run_id)["uploads_expired"] == 2


def test_a_session_is_dropped_when_it_has_ended(db, client):
    client.force_login(User.objects.create_user("ada"))
    now = timezone.now()
    assert accounts.drop_expired(now + 13 * DAY)["sessions"] == 0
    assert accounts.drop_expired(now + 15 * DAY)["sessions"] == 1
    assert not Session.objects.exists()


def test_a_login_link_is_dropped_a_week_after_it_ended(db):
    accounts.login_link_secret()
    now = timezone.now()
    assert accounts.drop_expired(now + 7 * DAY)["login links"] == 0
    assert accounts.drop_expired(now + 8 * DAY)["login links"] == 1
    assert not LoginLink.objects.exists()
