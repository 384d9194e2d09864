"""EXPLAIN of the queries of storage roots and full hashes that grow with the data."""

import pytest

from apps.checkpoints import hashes_store, roots_store
from tests.query_plans import grown_by, plan_of

pytestmark = pytest.mark.django_db
GROWN = """
INSERT INTO checkpoints_scannedstep (run_id, root_id, place_key, path, fingerprint)
  SELECT r, r % 40, 'key-' || r || '-' || s, 'step-' || s, '' FROM generate_series(1, 200) r,
  generate_series(1, 100) s;
INSERT INTO checkpoints_contenthash (run_id, attempt, step, place_key, uri, state, asked_by,
  asked_at_ns, heard_at_ns, bytes_done, bytes_total, files, before, digest, inventory_digest,
  findings, message)
  SELECT r, 0, s, 'key', '/c', CASE WHEN r = 7 AND s < 3 THEN 'waiting' ELSE 'done' END, '', s, 0,
  0, 1, '', '', '', '', '[]', '' FROM generate_series(1, 200) r, generate_series(1, 50) s;
ANALYZE;
"""
CASES = [
    (roots_store.seen, (7,), ["ix_scanned_step_root"]),
    (hashes_store.waiting, (1,), ["ix_content_hash_open"]),
    (hashes_store.get, (7, 0, 9, "/c"), ["checkpoints_contenthash_pkey"]),
    (hashes_store.of_checkpoint, (7, 0, 9), ["checkpoints_contenthash_pkey"]),
    (hashes_store.standing, (7, "/c", ""), ["checkpoints_contenthash_pkey"]),
]


grown = grown_by(GROWN)


@pytest.mark.parametrize(
    ("query", "args", "indexes"), CASES, ids=lambda value: getattr(value, "__name__", "")
)
def test_the_index_is_used(grown, query, args, indexes):
    plan = plan_of(query, *args)
    assert [name for name in indexes if name not in plan] == [], plan
    assert "Seq Scan" not in plan, plan
