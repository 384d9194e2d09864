"""EXPLAIN of the queries of metrics, logs, checkpoints, incidents, alerts and rollbacks."""

import pytest

from apps.alerts import log_store
from apps.alerts import store as alerts
from apps.alerts.log_store import LogQuery as AlertLog
from apps.checkpoints import copies_store, marks_store
from apps.checkpoints import store as checkpoints
from apps.incidents import store as incidents
from apps.incidents.store import IncidentQuery, blames
from apps.logs import store as logs
from apps.logs.domain.chunk.retention import Cut
from apps.logs.records import LogQuery
from apps.logs.store import chunkquery, expiring, merging
from apps.logs.store.chunkrows import ChunkOwner
from apps.metrics import store as metrics
from apps.metrics.store.fetch import Plan, fetch
from apps.metrics.store.names import ids, keysets
from apps.rollbacks import store as rollbacks
from tests.query_plans import grown_by, plan_of

pytestmark = pytest.mark.django_db
GROWN = """
CREATE TEMP TABLE many ON COMMIT DROP AS SELECT generate_series(1, 40) AS r;
INSERT INTO incidents_incident (run_id, id, attempt, kind, severity, page, state, onset_time_ns,
  title, cause_hint, suspects, hypotheses, settled, finding_count, opened_at_ns, acknowledged_by,
  resolved_at_ns, resolution, reopened, look_again_step)
  SELECT r, 1000 * r + i, i % 3, 'explosion', 'page', i % 50 = 0,
    CASE WHEN i % 50 = 0 THEN 'open' ELSE 'resolved' END, 1, 'Loss went up', '', '[]', '[]',
    true, 1, 1, '',
    CASE WHEN i % 50 = 0 THEN NULL ELSE 1 END, '', 0, i
  FROM many, generate_series(1, 100) i;
INSERT INTO incidents_finding (run_id, key, attempt, incident_id, detector, kind, severity,
  onset_time_ns, seen_time_ns, title, evidence, suspects, facts)
  SELECT r, 'key-' || i, 0, 1000 * r + i % 100, 'd', 'k', 'warn', i, i, '', '[]', '[]', '{}'
  FROM many, generate_series(1, 300) i;
INSERT INTO incidents_hostblamerow (run_id, incident_id, node, attempt, fault_class, confidence,
  weight, confirmed_by, at_ns, noted_ns)
  SELECT run_id, id, 'node-' || id % 900, 0, 'xid_79', 0.9, 0.9, '', id, id FROM incidents_incident;
INSERT INTO incidents_incidentevent (run_id, incident_id, key, at_ns, text, actor)
  SELECT r, 1000 * r + i, e, e, '', '' FROM many, generate_series(1, 50) i,
  generate_series(1, 5) e;
INSERT INTO alerts_notification (run_id, incident_id, recipient, kind, seq, status, due_at_ns,
  planned_at_ns, claimed_until_ns, tries, sent_at_ns, subject, error)
  SELECT r, 1000 * r + i, r || '@example.org', 'opening', 0,
    CASE WHEN i % 50 = 0 THEN 'pending' ELSE 'sent' END, i, 100 * r + i, 0, 0, 1, '', ''
  FROM many, generate_series(1, 100) i;
INSERT INTO checkpoints_checkpoint (run_id, attempt, step, path, saved_at_ns, files, file_count,
  stated_bytes, inventory_digest, framework, level, findings, complete, state)
  SELECT r, 0, s, '', 1, '\\x01', 1, 1, '', 'dcp', 'committed', '[]', true,
    CASE WHEN s < 100 THEN 'committed' ELSE 'committing' END
  FROM many, generate_series(1, 100) s;
INSERT INTO checkpoints_checkpointcopy (run_id, attempt, step, place_key, uri, tier, state, level,
  findings) SELECT r, 0, s, s, '', 'shared', 'committed', 'committed', '[]'
  FROM many, generate_series(1, 100) s;
INSERT INTO checkpoints_checkpointmark (run_id, attempt, step, kind, name, reason, actor,
  made_at_ns) SELECT r, 0, s, 'tag', 'x', '', '', 1 FROM many, generate_series(1, 100) s;
INSERT INTO checkpoints_checkpointmetadata (run_id, attempt, step, content, content_bytes, checked)
  SELECT r, 0, s, '', 0, s < 99 FROM many, generate_series(1, 100) s;
INSERT INTO checkpoints_checkpointresave (run_id, attempt, step, inventory_digest, path,
  saved_at_ns, files)
  SELECT r, 0, s, 'd', '', 1, '' FROM many, generate_series(1, 100) s;
INSERT INTO rollbacks_order (run_id, id, idempotency_key, kind, from_attempt, attempt, step, path,
  inventory_digest, branch_dir, exclude_nodes, skip_ranges, forced, reason, actor, requested_at_ns,
  state, changed_at_ns, launch)
  SELECT r, 100 * r + i, i, 'explosion', 0, 0, 1, '', '', '', '[]', '[]', false, '', '', 1,
    CASE WHEN i = 1 AND r < 4 THEN 'requested' ELSE 'failed' END, 1, ''
  FROM many, generate_series(1, 99) i;
INSERT INTO rollbacks_orderevent (run_id, order_id, seq, at_ns, act, before, after, actor, why)
  SELECT r, 100 * r + i, e, 1, 'note', '', '', '', '' FROM many, generate_series(1, 50) i,
  generate_series(0, 4) e;
INSERT INTO metrics_serieskey (run_id, key_id, key, ranked)
  SELECT r, 1000 * r + k, 'key-' || k, k % 10 = 0 FROM many, generate_series(1, 200) k;
INSERT INTO metrics_keyset (run_id, keyset_id, keys)
  SELECT r, k, array[1000 * r + k] FROM many, generate_series(1, 50) k;
INSERT INTO metrics_hotblock (run_id, attempt, last_step, block_id, first_step, keyset_id, ranked,
  rows, points, nonfinite, source, axis, cells)
  SELECT r, 0, 10 * b, b, 10 * b - 9, b % 50 + 1, false, 10, 10, 0, '', '', ''
  FROM many, generate_series(1, 200) b;
INSERT INTO metrics_coldaxis (run_id, axis_id, rows, axis)
  SELECT r, a, 1, '' FROM many, generate_series(1, 100) a;
INSERT INTO metrics_coldblock (run_id, key_id, attempt, last_step, block_id, first_step, axis_id,
  points, nan, posinf, neginf, minimum, maximum, cells)
  SELECT r, 1000 * r + k, 0, 1000 * b, b, 1000 * b - 999, b, 1000, 0, 0, 0, 0, 0, ''
  FROM many, generate_series(1, 20) k, generate_series(1, 20) b;
INSERT INTO metrics_tier (run_id, key_id, attempt, level, chunk, axis, cells)
  SELECT r, 1000 * r + k, 0, 6, c, '', '' FROM many, generate_series(1, 20) k,
  generate_series(0, 9) c;
INSERT INTO metrics_fresh (run_id, attempt, fresh_id, first_step, last_step, ranked)
  SELECT r, a, f, 1, 2, false FROM many, generate_series(1, 20) a, generate_series(1, 10) f;
INSERT INTO logs_source (run_id, source_id, attempt, node, name, generation, channel, end_offset,
  lines, skipped_lines)
  SELECT r, 1000 * r + s, s % 5, 'node-' || s, 'stderr.log', 0, 'stderr', 0, 0, 0
  FROM many, generate_series(1, 200) s;
INSERT INTO logs_chunk (run_id, chunk_id, attempt, node, batch_id, first_ns, first_rank, first_seq,
  last_ns, last_rank, last_seq, lines, copies, debug, info, warning, error, critical, ranks,
  text_bytes, body)
  SELECT r, 1000 * r + c, 0, 'n', '', c, 0, 0, c + 5, 0, 0, 1, 0, 0, 1, 0, 0, 0, '{0}', 1, ''
  FROM many, generate_series(1, 300) c;
INSERT INTO logs_event (run_id, source_id, seq, attempt, node, channel, time_ns, severity,
  message_at, text)
  SELECT r, 1000 * r + s, q, s % 5, '', 'stderr', q, 40, 0, '' FROM many,
  generate_series(1, 50) s, generate_series(1, 10) q;
INSERT INTO logs_ranklog (run_id, attempt, node, slot, lines, copies, worst_severity, last_text,
  progress_source, progress_seq)
  SELECT r, a, 'n', s, 1, 0, 0, '', '', 0 FROM many, generate_series(0, 4) a,
  generate_series(1, 40) s;
INSERT INTO logs_triage (run_id, attempt, dirty, fingerprint, settled, taxonomy)
  SELECT r, a, false, '', false, 0 FROM many, generate_series(1, 100) a;
ANALYZE;
"""


def chunks_in_order(query):
    """The chunks that a page of lines is read from."""
    step = chunkquery.Step(16, newest_first=False, with_sieve=False)
    return chunkquery.rows_of(chunkquery.where_of(query, ()), step)


def newest_orders():
    return rollbacks.orders(7, limit=5)


def claim_one():
    return alerts.claim(99, 1, 1)


CASES = [
    (incidents.findings, (7, 7_001), ["ix_finding_incident"]),
    (incidents.findings_by_incident, (7, [7_001, 7_002]), ["ix_finding_incident"]),
    (incidents.live_incidents, (7, 0, 5), ["ix_incident_attempt"]),
    (incidents.earlier_incidents, (7, 2, 5), ["ix_incident_attempt"]),
    (incidents.to_look_again, (7, 0, 5), ["ix_incident_attempt"]),
    (incidents.homes, (7, ["key-1"]), ["incidents_finding_pkey"]),
    (incidents.get, (7_001,), ["ix_incident_id"]),
    (incidents.get_many, (7, [7_001]), ["ix_incident_id"]),
    (incidents.list_incidents, (IncidentQuery(run_id=7),), ["incidents_incident_pkey"]),
    (incidents.list_incidents, (IncidentQuery(state="open"),), ["ix_incident_state"]),
    (incidents.list_incidents, (IncidentQuery(),), ["ix_incident_id"]),
    (incidents.list_urgent, (IncidentQuery(),), ["ix_incident_urgency"]),
    (incidents.list_urgent, (IncidentQuery(state="open"),), ["ix_incident_urgency"]),
    (incidents.list_urgent, (IncidentQuery(unresolved=True), (1, 9)), ["ix_incident_urgency"]),
    (incidents.list_urgent, (IncidentQuery(owner="ada"), (5, 900)), ["ix_incident_urgency"]),
    (incidents.list_urgent, (IncidentQuery(text="loss"),), ["ix_incident_urgency"]),
    (incidents.list_urgent, (IncidentQuery(run_id=7),), ["ix_incident_attempt"]),
    (incidents.counts, (), ["ix_incident_urgency"]),
    (incidents.of_runs, ([7, 8],), ["ix_incident_attempt"]),
    (incidents.notes, (7, 7_001), ["incidents_incidentevent_pkey"]),
    (incidents.paging, (5,), ["ix_incident_page"]),
    (incidents.open_count, (), ["ix_incident_state"]),
    (incidents.events, (7, 7_001), ["incidents_incidentevent_pkey"]),
    (alerts.messages, ([(7, 7_001)],), ["alerts_notification_pkey"]),
    (claim_one, (), ["ix_notification_due", "alerts_notification_pkey"]),
    (alerts.letters, ("7@example.org", 9), ["ix_notification_due"]),
    (alerts.told, ("7@example.org", 0), ["ix_notification_told"]),
    (alerts.deliveries, (5,), ["ix_notification_newest"]),
    (log_store.page, (AlertLog(limit=5),), ["ix_notification_newest"]),
    (log_store.page, (AlertLog(incident=(7, 7_001)),), ["alerts_notification_pkey"]),
    (blames.blamed, ("node-7", (9_999, 1)), ["ix_blame_node", "ix_incident_id"]),
    (blames.blamed_lately, (["node-7"], 0), ["ix_blame_node", "ix_incident_id"]),
    (blames.scored, (["node-7"],), ["ix_blame_node"]),
    (blames.still_suspected, (["node-7"], 0.4, 0), ["ix_blame_node"]),
    (blames.unconfirmed, (2**60,), ["ix_blame_unconfirmed"]),
    (incidents.headlines, (5,), ["ix_incident_id"]),
    (incidents.silenced, (1,), ["ix_incident_urgency"]),
    (checkpoints.checkpoints, (7,), ["checkpoints_checkpoint_pkey"]),
    (checkpoints.at_step, (7, 5), ["checkpoints_checkpoint_pkey"]),
    (checkpoints.outlines, (7,), ["checkpoints_checkpoint_pkey"]),
    (checkpoints.open_saves, (), ["ix_checkpoint_open"]),
    (checkpoints.unchecked, (5,), ["ix_checkpoint_unchecked"]),
    (copies_store.of_checkpoint, (7, 0, 500), ["checkpoints_checkpointcopy_pkey"]),
    (marks_store.of_run, (7, 0), ["checkpoints_checkpointmark_pkey"]),
    (checkpoints.resaved_files, (7, 0, 500), ["checkpoints_checkpointresave_pkey"]),
    (newest_orders, (), ["rollbacks_order_pkey"]),
    (rollbacks.active, (2,), ["one_active_order_a_run"]),
    (rollbacks.active_runs, (), ["one_active_order_a_run"]),
    (rollbacks.with_key, (7, "5"), ["one_order_an_idempotency_key"]),
    (rollbacks.events, (7, 701), ["rollbacks_orderevent_pkey"]),
    (metrics.keys, (7,), ["uq_metrics_series_key", "metrics_coldblock_pkey"]),
    (lambda: metrics.key_names(7, ranked=True), (), ["uq_metrics_series_key"]),
    (ids, (7, ["key-5"]), ["uq_metrics_series_key"]),
    (keysets, (7, [7_005]), ["metrics_keyset_pkey"]),
    (metrics.take_fresh, (7, 3), ["metrics_fresh_pkey"]),
    (
        fetch,
        (Plan(7, [7_005], 0, 1_900, 1_950, level=6),),
        [
            "metrics_hotblock_pkey",
            "metrics_coldblock_pkey",
            "metrics_coldaxis_pkey",
            "metrics_tier_pkey",
        ],
    ),
    (logs.rank_states, (7, 0), ["logs_ranklog_pkey"]),
    (logs.look_again_ns, (7, 3), ["logs_triage_pkey"]),
    (logs.event_rows, (7, 0, []), ["ix_event_time"]),
    (merging._small, (ChunkOwner(7, 0, "node-5", ""),), ["ix_chunk_to_merge"]),
    (expiring._oldest, (Cut(7, 0, "", 0, 0, before_ns=9), None), ["ix_chunk_last"]),
    (expiring.stored, ([7], 9), ["logs_chunk_pkey"]),
    (logs.end_offset, (7, 0, "node-5", "stderr.log"), ["logs_source_is_one_file"]),
    (logs.contexts, (7, 0, "node-5", ["stderr.log"]), ["logs_source_is_one_file"]),
    (chunks_in_order, (LogQuery(7, 0, from_ns=290),), ["ix_chunk_last"]),
    (chunks_in_order, (LogQuery(7, 0, to_ns=10),), ["ix_chunk_first"]),
]


grown = grown_by(GROWN)


def name_of(value):
    return getattr(value, "__name__", "")


@pytest.mark.parametrize(("query", "args", "indexes"), CASES, ids=name_of)
def test_the_index_is_used(grown, query, args, indexes):
    plan = plan_of(query, *args)
    assert [name for name in indexes if name not in plan] == [], plan
    assert "Seq Scan" not in plan, plan
