"""EXPLAIN of the queries of accounts, runs, nodes and ingest that grow with the data."""

from datetime import UTC, datetime

import pytest

from apps.accounts import seal_store as seals
from apps.accounts import store as accounts
from apps.accounts.records import AuditQuery
from apps.ingest import store as ingest
from apps.nodes import hosts_store as hosts
from apps.nodes import store as nodes
from apps.nodes.records import HostQuery, Place
from apps.runs import board_store
from apps.runs import contact_store as contacts
from apps.runs import hosts_store as run_hosts
from apps.runs import store as runs
from apps.runs.board_store import Wanted
from apps.runs.find_store import find_runs
from apps.runs.records import LaunchSeen
from tests.query_plans import grown_by, plan_of

pytestmark = pytest.mark.django_db
GROWN = """
INSERT INTO runs_run (id, key, project, config, created_at)
  SELECT r, 'run-' || r, '', '{}', now() FROM generate_series(1, 500) r;
INSERT INTO runs_attempt (run_id, number, started_ns, summary, failed, last_ns, exit_code)
  SELECT r, a, 1, '{}', false, r, CASE WHEN a = 9 THEN 0 END
  FROM generate_series(1, 500) r, generate_series(0, 9) a;
INSERT INTO runs_contact (run_id, heard_ns, contacts, watched, rhythm, told)
  SELECT r, r, 1, r <= 20, '{}', '{}' FROM generate_series(1, 3000) r;
INSERT INTO runs_watch (id, looked_ns, resumed_ns, judged_ns)
  SELECT r, 1, 1, 1 FROM generate_series(1, 2000) r;
INSERT INTO runs_launch (run_id, slot, launch, attempt, started_ns)
  SELECT 1, 'torchrun:' || n, 'launch-' || a, a, 1
  FROM generate_series(1, 200) n, generate_series(0, 9) a;
INSERT INTO runs_placement (run_id, attempt, rank, node)
  SELECT r, 0, k, 'node-' || (r + k / 8) % 100
  FROM generate_series(1, 500) r, generate_series(0, 31) k;
INSERT INTO nodes_node (name, first_seen_at, state, log2_score)
  SELECT 'node-' || n, now(), CASE WHEN n % 50 = 0 THEN 'suspected' ELSE 'ok' END, -1e9
  FROM generate_series(1, 3000) n;
INSERT INTO nodes_nodechange (node, seq, at_ns, act, before, after, actor, reason, cause)
  SELECT 'node-' || n, s, s, 'cordon', 'ok', 'cordoned', 'ada', 'x', ''
  FROM generate_series(1, 1000) n, generate_series(0, 4) s;
INSERT INTO nodes_nodeeventrow (node, time_ns, digest, kind, severity, message)
  SELECT 'node-' || n, t, 'd', 'xid', 'error', '' FROM generate_series(1, 100) n,
  generate_series(1, 50) t;
INSERT INTO accounts_auditentry (run_id, id, at_ns, actor_kind, actor, action, object, before,
  after, reason, request_id)
  SELECT 0, i, 1, 'user', 'ada', 'act', 'x', '{}', '{}', '', '' FROM generate_series(1, 5000) i;
INSERT INTO accounts_auditseal (number, last_id, rows, digest, sealed_at_ns, checked_at_ns, broken)
  SELECT n, n, 1, '', n, n, false FROM generate_series(1, 3000) n;
INSERT INTO ingest_quarantine (run_id, id, batch_id, endpoint, encoding, token, received_ns,
  quarantined_at, reason, "where", hint, body, body_bytes)
  SELECT r, 10 * r + i, i, 'logs', 'zstd', 't', 1, now(), 'why', '', '', '', 0
  FROM generate_series(1, 500) r, generate_series(0, 9) i;
INSERT INTO ingest_counter (run_id, name, value)
  SELECT r, 'name-' || i, 1 FROM generate_series(1, 500) r, generate_series(0, 9) i;
INSERT INTO ingest_analysis (run_id, attempt, written, seen, error)
  SELECT r, a, 5, CASE WHEN r = 7 THEN 4 ELSE 5 END, ''
  FROM generate_series(1, 500) r, generate_series(0, 9) a;
INSERT INTO ingest_batch (run_id, batch_id, written_at)
  SELECT r, i, now() - i * interval '1 hour'
  FROM generate_series(1, 50) r, generate_series(0, 199) i;
ANALYZE;
"""
"""The watch has one row only; with more of them a plan shows that it is found by its key."""
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
LAUNCH = LaunchSeen("wandb", "w", 1)

CASES = [
    (accounts.audit_rows, (10,), ["ix_audit_newest"]),
    (accounts.audit_rows, (10, 99), ["ix_audit_newest"]),
    (accounts.audit_rows, (10, None, AuditQuery(actor="bob")), ["ix_audit_actor"]),
    (accounts.audit_rows, (10, None, AuditQuery(object="inc-4")), ["ix_audit_object"]),
    (accounts.audit_rows, (10, None, AuditQuery(run_id=7)), ["accounts_auditentry_pkey"]),
    (seals.to_check, (10,), ["ix_seal_checked"]),
    (runs.get_run, ("run-7",), ["runs_run_key", "runs_attempt_pkey"]),
    (runs.keys, ([1, 2],), ["runs_run_pkey"]),
    (runs.list_runs, (10, 99), ["runs_run_pkey"]),
    (board_store.watched_ids, (), ["ix_watched"]),
    (
        board_store.standings,
        ([1, 2], 10**18),
        ["runs_run_pkey", "runs_contact_pkey", "runs_attempt_pkey"],
    ),
    (board_store.settled, (400, [398, 399], Wanted(), 10), ["runs_run_pkey"]),
    (board_store.settled, (400, [398, 399], Wanted(owner="ada"), 10), ["ix_run_owner"]),
    (find_runs, ("run-7", 5), ["runs_run_key", "runs_run_pkey"]),
    (runs.attempts, (1,), ["runs_attempt_pkey"]),
    (runs.ended_well, (400, 20), ["ix_attempt_ended_well"]),
    (runs.attempt, (1, 0), ["runs_attempt_pkey"]),
    (runs.attempt, (1, None), ["runs_attempt_pkey"]),
    (runs.launch_attempt, (1, LAUNCH), ["runs_launch_pkey"]),
    (runs.starts, (1, "wandb"), ["runs_launch_pkey", "one_start_a_slot"]),
    (runs.placements, (1, 0), ["runs_placement_pkey"]),
    (runs.rank_count, (1, 0), ["runs_placement_pkey", "runs_run_pkey"]),
    (runs.last_step, (1, 0), ["runs_attempt_pkey"]),
    (hosts.list_hosts, (HostQuery(),), ["ix_node_urgency"]),
    (hosts.list_hosts, (HostQuery(after=Place(3, -1e9, "node-7")),), ["ix_node_urgency"]),
    (hosts.get, ("node-7",), ["nodes_node_name"]),
    (hosts.changes, ("node-7", (9, 9)), ["nodes_nodechange_pkey"]),
    (hosts.open_events, (["node-7"], 0), ["nodes_nodeeventrow_pkey"]),
    (nodes.loud_events, ([("node-1", 0, 9)],), ["nodes_nodeeventrow_pkey"]),
    (nodes.latest_events, ("node-1", (9, 9), 9), ["nodes_nodeeventrow_pkey"]),
    (run_hosts.attendance, (["node-7"], 0), ["ix_placement_node", "runs_attempt_pkey"]),
    (run_hosts.parts, ("node-7", (9, 0, 0), 9), ["ix_placement_node"]),
    (run_hosts.hosts_of_attempt, (7, 0), ["runs_placement_pkey"]),
    (run_hosts.ranks_by_host, (7, [0]), ["runs_placement_pkey"]),
    (contacts.watched_run, (1,), ["runs_contact_pkey", "runs_attempt_pkey"]),
    (contacts.note_start, (1, 5), ["runs_contact_pkey"]),
    (nodes.events, (["node-1", "node-2"], 0, 9), ["nodes_nodeeventrow_pkey"]),
    (ingest.quarantined, (10,), ["ix_quarantine_newest"]),
    (ingest.quarantined, (10, 99), ["ix_quarantine_newest"]),
    (ingest.take_quarantined, (1,), ["ix_quarantine_newest"]),
    (ingest.quarantined_body, (1,), ["ix_quarantine_newest"]),
    (ingest.quarantine_counts, ([1, 2],), ["quarantined_once"]),
    (ingest.counters, (1,), ["ingest_counter_pkey"]),
    (ingest.analysis_to_do, (1, 0, 5), ["ingest_analysis_pkey"]),
    (ingest.analysis_due, (5,), ["ix_analysis_due"]),
    (ingest.analyses_of, ([1, 2],), ["ingest_analysis_pkey"]),
    (ingest.forget_batches, (LONG_AGO,), ["ix_batch_age", "ingest_batch_pkey"]),
]


grown = grown_by(GROWN)


@pytest.mark.parametrize(
    ("query", "args", "indexes"), CASES, ids=lambda v: getattr(v, "__name__", "")
)
def test_the_index_is_used(grown, query, args, indexes):
    plan = plan_of(query, *args)
    assert [name for name in indexes if name not in plan] == [], plan
    assert "Seq Scan" not in plan, plan
