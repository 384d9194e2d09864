"""Postgres answers it with an OperationalError, like an outage; but waiting would not help."""

import random

from apps.ingest import store
from apps.ingest.digest import digest
from apps.runs import store as runs
from tests.factories import envelope, log_body, metric_body

LETTERS = [chr(0x20000 + n) for n in range(40_000)]


def name(length):
    """Characters of four bytes that no compression makes shorter."""
    return "".join(random.Random(7).choices(LETTERS, k=length))


def test_it_is_quarantined_and_its_neighbour_written(db):
    run_id = runs.ensure_run("r")
    long = log_body(b"x\n", source=name(500), node=name(253))
    group = [("logs", long), ("metrics", metric_body({1: 2.0}))]
    result = digest([envelope(door, body, run_id=run_id) for door, body in group])
    assert (result.written, result.quarantined) == (1, 1)
    assert "index row" in store.quarantined(1)[0].reason


def test_the_door_of_starts_says_so(client, token):
    body = {"slot": name(300), "launch": name(500), "started_ns": 1}
    answer = client.post(
        "/api/v1/runs/r/launches",
        body,
        content_type="application/json",
        headers={"Authorization": f"Bearer {token}"},
    )
    assert (answer.status_code, answer.json()["error"]) == (400, "a name is too long")


def test_a_refusal_while_writing_names_its_field(db):
    body = b'{"rows":[{"step":4611686018427387904,"values":{"a":1}}]}'
    digest([envelope("metrics", body, run_id=runs.ensure_run("r"))])
    (kept,) = store.quarantined(1)
    assert (kept.where, kept.reason.split()[0]) == ("rows[].step", "step")
