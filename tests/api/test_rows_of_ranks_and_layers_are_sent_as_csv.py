"""ranks/N.csv and layers.csv: every point behind two rows of the deck, as it was logged."""

import csv
import math

import pytest

from apps.core.records import MetricRow
from apps.dashboard import points_csv
from apps.metrics import store as metrics
from apps.metrics.services import compact
from apps.runs import store as runs

pytestmark = pytest.mark.django_db
T0_NS = 1_795_981_200_000_000_000
STEPS, RANKS = 40, 3


@pytest.fixture
def wide(valkey):
    """A run of one attempt: a loss of each rank, and two layers, one of them by its modules."""
    run_id = runs.ensure_run("wide")
    runs.open_attempt(run_id, 0, T0_NS)
    job = [
        MetricRow(n, T0_NS + n, {
            "train/loss": 3.0,
            "grad_norm/layers.0": math.nan if n == 7 else 1.0 + n,
            "grad_norm/layers.1.attn": 2.0,
            "grad_norm/layers.1.mlp": 4.0,
        })
        for n in range(STEPS)
    ]  # fmt: skip
    ranks = [
        MetricRow(n, T0_NS + n, {"local_loss": n + rank / 10}, rank=rank)
        for n in range(STEPS)
        for rank in range(RANKS)
    ]
    metrics.write_rows(run_id, 0, job, source="test")
    metrics.write_rows(run_id, 0, ranks[: len(ranks) // 2], source="test")
    compact(run_id, everything=True)
    metrics.write_rows(run_id, 0, ranks[len(ranks) // 2 :], source="test")
    return run_id


def lines_of(answer):
    return list(csv.reader(b"".join(answer.streaming_content).decode().splitlines()))


def test_every_rank_is_there_once_a_step_however_few_fit_in_memory(reader, wide, monkeypatch):
    monkeypatch.setattr(points_csv, "MOST_ROWS", RANKS)
    answer = reader.get("/runs/wide/ranks/0.csv")
    assert 'filename="wide-0-local_loss-by-rank.csv"' in answer["Content-Disposition"]
    heads, *lines = lines_of(answer)
    assert heads == ["step", "time_ns", "rank", "local_loss"]
    assert lines == [
        [str(n), str(T0_NS + n), str(rank), repr(n + rank / 10)]
        for n in range(STEPS)
        for rank in range(RANKS)
    ]


def test_a_layer_that_is_drawn_from_its_modules_gives_the_modules(reader, wide):
    heads, *lines = lines_of(reader.get("/runs/wide/layers.csv", {"lines": "layer 1"}))
    assert heads == ["row", "series", "attempt", "step", "time_ns", "value"]
    assert len(lines) == 2 * STEPS
    assert {(line[0], line[1], line[5]) for line in lines} == {
        ("layer 1", "grad_norm/layers.1.attn", "2.0"),
        ("layer 1", "grad_norm/layers.1.mlp", "4.0"),
    }


def test_what_is_no_number_is_told_as_such(reader, wide):
    _, *lines = lines_of(reader.get("/runs/wide/layers.csv", {"lines": "layer 0|no such row"}))
    assert [line[5] for line in lines if line[3] == "7"] == ["nan"]


@pytest.mark.parametrize("path", ["ranks/1.csv", "layers.csv", "layers.csv?lines=layer+9"])
def test_what_is_not_logged_is_not_found(reader, wide, path):
    assert reader.get(f"/runs/wide/{path}").status_code == 404


def test_no_name_is_a_formula():
    """Any sender names series; people open the file in a spreadsheet."""
    name = '=HYPERLINK("http://evil.example")'
    assert next(iter(points_csv.of_series(0, name)))[-1] == f"'{name}"
    assert next(iter(points_csv.of_ranks(0, 0, name)))[-1] == f"'{name}"
