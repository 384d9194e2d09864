"""ingest.services.forget_batches and its periodic task"""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.ingest import services, store
from apps.ingest.digest import digest
from apps.runs.store import ensure_run
from tests.factories import envelope, metric_body
from workers.tasks.ingest import forget

WEEK = timedelta(days=7)


@pytest.fixture
def sent(db):
    run_id = ensure_run("r")
    batches = [envelope("metrics", metric_body({n: 1.0}), run_id=run_id) for n in range(5)]
    digest(batches)
    return batches


def test_a_younger_one_still_counts_once(sent):
    assert services.forget_batches(timezone.now() + WEEK - timedelta(minutes=1)) == 0
    assert digest(sent).duplicates == 5


def test_older_ones_are_forgotten_a_few_at_a_time(sent, monkeypatch):
    few, calls = store.forget_batches, []
    monkeypatch.setattr(
        store, "forget_batches", lambda before: calls.append(few(before, limit=2)) or calls[-1]
    )
    assert services.forget_batches(timezone.now() + WEEK) == 5
    assert calls == [2, 2, 1, 0]


def test_the_task_forgets_nothing_fresh(sent):
    assert forget() == 0
