"""ingest.watch on the last steps of ranks, by an injected clock."""

import pytest
from django.db import transaction

from apps.incidents import store as incidents
from apps.incidents.store import IncidentQuery
from apps.ingest import watch
from apps.logs.domain.clock import skew
from apps.logs.domain.triage.ranks import RankState
from apps.logs.models import StepClock
from apps.logs.store.states import save_states
from tests.watching import S, a_run, at, has_talked, rows, told

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("valkey")]


def say(run_id, seconds, *, silent=(), ranks=8, ahead_s=0.0, late=()):
    """All ranks but the silent ones say a step, the late ones the step before; the run is heard of,
    and looked at. ahead_s: of the clock of gpu-1."""
    states = [
        RankState(f"gpu-{rank // 4}", f"local:{rank % 4}", rank, rank % 4,
                  last_step=int(seconds // 2) - (rank in late),
                  progress_ns=at(seconds + (ahead_s if rank // 4 == 1 else 0.0)), pace_ns=2 * S)
        for rank in range(ranks)
        if rank not in silent
    ]  # fmt: skip
    with transaction.atomic():
        save_states(run_id, 0, states)
    rows(run_id, seconds)
    return watch.look(at(seconds + 1))


def test_a_rank_that_falls_silent_is_a_warning_until_it_is_heard_again():
    run = has_talked(a_run(), 100)
    say(run, 110)
    looks = [say(run, 120 + 15 * n, silent={6}) for n in range(20)]

    assert (sum(looks), told(run)) == (1, [("silent_rank", "open")])
    (incident,) = incidents.list_incidents(IncidentQuery(run_id=run))
    assert (incident.page, incident.onset_step) == (False, 55)
    assert [(s.rank, s.node) for s in incident.suspects] == [(6, "gpu-1")]
    assert say(run, 500) == 1
    assert told(run) == [("silent_rank", "resolved")]


def test_only_rank_0_logs_and_nothing_is_told():
    run = has_talked(a_run(), 100)
    assert sum(say(run, 120 + 30 * n, ranks=1) for n in range(10)) == 0


def keep_clocks(run_id, ahead_s):
    """Three hosts came to forty steps together, and gpu-1 stamps them with its own clock."""
    for node, off_s in (("gpu-0", 0.0), ("gpu-1", ahead_s), ("gpu-2", 0.0)):
        body = skew.pack({step: at(2 * step + off_s) for step in range(40)})
        StepClock.objects.create(run_id=run_id, attempt=0, node=node, body=body)


def test_a_host_whose_clock_is_slow_is_not_silent():
    run = has_talked(a_run(), 100)
    keep_clocks(run, -600)
    slow = {"ranks": 12, "ahead_s": -600, "late": {4, 5, 6, 7}}
    assert sum(say(run, 120 + 15 * n, **slow) for n in range(20)) == 0


def test_a_host_whose_clock_is_fast_is_silent_as_soon_as_any_other():
    run = has_talked(a_run(), 100)
    keep_clocks(run, 600)
    say(run, 110, ranks=12, ahead_s=600)
    dead = {"ranks": 12, "silent": {4, 5, 6, 7}}
    assert sum(say(run, 120 + 15 * n, **dead) for n in range(12)) == 1
    assert told(run) == [("silent_rank", "open")]
