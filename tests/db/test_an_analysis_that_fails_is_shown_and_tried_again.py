"""ingest.analyse: a detector that stumbles never holds up the data."""

import pytest

from apps.core.clock import now_ns
from apps.ingest import analyse, store
from apps.ingest.digest import digest
from apps.ingest.services import status
from apps.runs.store import ensure_run
from tests.factories import envelope, metric_body
from workers.writer.loop import Writer


@pytest.fixture
def stumbling(db, valkey, monkeypatch):
    def fail(*args):
        raise ZeroDivisionError("odd data")

    monkeypatch.setattr(analyse.metrics, "detect", fail)
    run_id = ensure_run("r")
    digest([envelope("metrics", metric_body({1: 1.0}), run_id=run_id)])
    return run_id


def test_the_reason_is_shown_and_the_data_is_there(stumbling):
    Writer("w").analyse_due()
    seen = status(stumbling)
    assert seen.analysis_errors == [(0, "ZeroDivisionError: odd data")]
    assert (seen.counters["points"], seen.behind) == (1, 1)


def test_it_waits_before_it_tries_again(stumbling):
    Writer("w").analyse_due()
    assert analyse.due(now_ns()) == []
    assert analyse.due(now_ns() + 2 * analyse.RETRY_NS) == [(stumbling, "r", 0)]


def test_the_next_success_clears_it(stumbling, monkeypatch):
    Writer("w").analyse_due()
    monkeypatch.setattr(analyse.metrics, "detect", lambda *args: [])
    analyse.bring_up_to_date(stumbling, "r", 0)
    assert status(stumbling).analysis_errors == []
    assert store.analyses_of([stumbling])[stumbling].behind == 0
