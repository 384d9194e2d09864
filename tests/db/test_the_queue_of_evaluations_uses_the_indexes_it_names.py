"""EXPLAIN of the queries of evaluations that grow with the data."""

import pytest

from apps.checkpoints import evaluations_store, jobs_store
from tests.query_plans import grown_by, plan_of

pytestmark = pytest.mark.django_db
GROWN = """
INSERT INTO checkpoints_evaluationjob (run_id, attempt, step, suite_id, suite, path, digest,
  asked_by, asked_at_ns, state, due_ns, tries, holder, evaluator, lease_until_ns, cancelled_by,
  reason, log_bytes)
  SELECT r, 0, s, 1, 's', '/c', 'd', 'ci', 1,
    CASE WHEN s = 1 AND r <= 20 THEN 'waiting' WHEN s = 2 AND r <= 20 THEN 'running'
         ELSE 'done' END,
    r, 1, '', '', CASE WHEN s = 2 THEN r END, '', '', 0
  FROM generate_series(1, 200) r, generate_series(1, 50) s;
INSERT INTO checkpoints_evaluationresult (run_id, attempt, step, suite, digest, source, model,
  at_ns, said_by, headline, scores, score_count, left_out)
  SELECT r, 0, s, 's', 'd', 'api', '', 1, 'ci', '[]', '[]', 0, 0
  FROM generate_series(1, 200) r, generate_series(1, 50) s;
ANALYZE;
"""
CASES = [
    (jobs_store.next_job, (99,), "ix_evaluation_waiting"),
    (jobs_store.waiting, (99,), "ix_evaluation_waiting"),
    (jobs_store.lost_jobs, (5,), "ix_evaluation_running"),
    (jobs_store.any_running, (), "ix_evaluation_running"),
    (jobs_store.active_job, (1, 0, 1, 1), "one_active_evaluation"),
    (jobs_store.jobs, (1,), "checkpoints_evaluationjob_pkey"),
    (evaluations_store.infos, (1,), "checkpoints_evaluationresult_pkey"),
    (evaluations_store.whole, (1, 0, 7), "checkpoints_evaluationresult_pkey"),
]


grown = grown_by(GROWN)


@pytest.mark.parametrize(("query", "given", "index"), CASES)
def test_the_index_is_used(grown, query, given, index):
    assert index in plan_of(query, *given)
