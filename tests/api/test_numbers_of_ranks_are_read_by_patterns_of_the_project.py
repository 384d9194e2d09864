"""/projects/<project>/rank-signals/ and /api/v1/projects/<project>/rank-signals."""

import orjson
import pytest

from apps.accounts.services import make_token
from apps.incidents import store as incidents
from apps.ingest import signalling
from apps.ingest.analyse import analyse
from apps.ingest.digest import digest
from apps.metrics import store as metrics
from apps.runs import store as runs
from tests import factories

pytestmark = pytest.mark.django_db
PAGE, API = "/projects/-/rank-signals/", "/api/v1/projects/-/rank-signals"
PATTERN = "iter {step} act {act_rms:signal} fwd {fwd_ms}"
NOW = factories.T0_NS + 10**12


@pytest.fixture(autouse=True)
def nothing_remembered():
    signalling._rules.clear()


@pytest.fixture
def put(client, token):
    def send(body, secret=token):
        return client.put(
            API, orjson.dumps(body), content_type="application/json",
            headers={"Authorization": f"Bearer {secret}"},
        )  # fmt: skip

    return send


def lines_of(rank, first, last):
    """Rank 5 says another activation from step 100 on, and nothing else of interest."""
    said = [
        f"iter {at} act {9.0 if rank == 5 and at >= 100 else 2 + 0.01 * ((7 * at + rank) % 5):.3f}"
        f" fwd {120 + (at + rank) % 3}"
        for at in range(first, last, 10)
    ]
    return "\n".join(f"2026-11-29 20:00:00.{at:03} [INFO] [rank{rank}] train: {text}"
                     for at, text in enumerate(said)) + "\n"  # fmt: skip


def train(run_id, first, last, *, ranks=8):
    """The files of all ranks go on."""
    for rank in range(ranks):
        text, source = lines_of(rank, first, last).encode(), f"r{rank}-{first}.log"
        body = factories.log_body(text, source=source, local_rank=rank)
        made = factories.envelope("logs", body, run_id=run_id, batch=f"{run_id}-{rank}-{first}")
        digest([made], quarantine=False)


@pytest.fixture
def run(valkey):
    run_id = runs.ensure_run("boat")
    runs.open_attempt(run_id, 0, factories.T0_NS)
    return run_id


def test_a_pattern_makes_series_of_ranks_that_are_compared(put, run):
    said = put({"version": 0, "patterns": [PATTERN]})
    assert orjson.loads(said.content)["compared"] == {
        "rank/act_rms": "signal", "rank/fwd_ms": "compute",
    }  # fmt: skip
    train(run, 0, 250)
    analyse(run, 0, NOW)

    points = metrics.read_rank_rows(run, 0, "rank/fwd_ms")
    assert (len(points.step), int(points.step[-1])) == (25 * 8, 240)
    (found,) = incidents.findings_of_kind(run, "rank_outlier")
    assert (found.rank, found.series, found.onset_step) == (5, "rank/act_rms", 100)
    assert found.severity == "warn"


def test_a_pattern_may_name_what_stands_before_the_message(put, operator, run):
    pattern = "[INFO] [rank{number}] train: iter {step} act {act_rms}"
    train(run, 0, 50)
    assert b"rank/act_rms <strong>" in operator.post(PAGE, {"pattern": pattern}).content
    put({"version": 0, "patterns": [pattern]})
    train(run, 50, 100)
    assert len(metrics.read_rank_rows(run, 0, "rank/act_rms").step) == 5 * 8


def test_without_a_pattern_these_lines_say_nothing(run):
    train(run, 0, 50)
    assert metrics.read_rank_rows(run, 0, "rank/act_rms") is None


def test_patterns_are_tried_on_recent_lines_before_they_count(operator, run):
    train(run, 0, 30)
    page = operator.post(PAGE, {"act": "preview", "pattern": ["act {act_rms:signal}", ""]})
    text = page.content.decode()

    assert "rank/act_rms <strong>2.0" in text
    assert "says no step" in text
    assert "compared as signal" in text
    assert metrics.signal_rules_of("").version == 0
    saved = operator.post(PAGE, {"act": "save", "version": 0, "pattern": [PATTERN]})
    assert saved.status_code == 302
    assert metrics.signal_rules_of("").patterns == (PATTERN,)
    assert b"rank_signals.changed" in operator.get("/audit/").content


def test_who_was_overtaken_is_told(put, run):
    assert put({"version": 0, "patterns": [PATTERN]}).status_code == 200
    late = put({"version": 0, "patterns": []})
    assert (late.status_code, b"changed these patterns meanwhile" in late.content) == (409, True)
    assert put({"version": 1, "patterns": []}).status_code == 200


def test_a_pattern_that_cannot_be_read_is_shown_with_its_reason(operator, put, run):
    page = operator.post(PAGE, {"act": "save", "pattern": ["loss"]})
    assert page.status_code == 400
    assert "pattern 1: a pattern reads at least one number" in page.content.decode()
    assert put({"version": 0, "patterns": ["loss"]}).status_code == 400


def test_who_may_only_read_changes_nothing(put, reader, run):
    assert put({"version": 0, "patterns": []}, make_token("r", ["read"])).status_code == 403
    assert reader.post(PAGE, {"act": "save", "pattern": [PATTERN]}).status_code == 403
    assert reader.get(PAGE).status_code == 200
    assert reader.get("/projects/nobody/rank-signals/").status_code == 404
