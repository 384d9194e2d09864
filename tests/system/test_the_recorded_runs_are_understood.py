"""Six real runs through the real doors: what the API says of each is what happened."""

import json
import subprocess
import sys

import pytest

from tests.stack import ROOT
from workers.demo.recordings import unpack

RUNS = ("lrbump", "sdc_rollback", "badbatch", "quiet", "hang_r5", "exc_r6")


@pytest.fixture(scope="module")
def loaded(stack, tmp_path_factory):
    """run -> (summary that `manage.py load --wait` printed, incidents of the API)."""
    answers = {}
    for run in RUNS:
        folder = unpack(run, tmp_path_factory.mktemp(run))
        printed = stack.manage("load", str(folder), "--run", run, "--wait")
        summary = json.loads(printed[printed.index("{") :])
        answers[run] = (summary, stack.get(f"incidents?run={run}")["items"])
    return answers


def paging(incidents):
    return [incident for incident in incidents if incident["page"]]


def test_lrbump_explodes_when_the_learning_rate_jumps(loaded):
    (incident,) = paging(loaded["lrbump"][1])
    assert incident["kind"] == "explosion"
    assert incident["onset_step"] in (1000, 1001)
    assert "learning rate changed at the same step" in incident["cause_hint"]


def test_lrbump_can_go_back_to_900_and_never_behind_the_onset(loaded):
    (incident,) = paging(loaded["lrbump"][1])
    steps = [candidate["step"] for candidate in incident["candidates"]]
    assert (steps[0], incident["candidates"][0]["eligible"]) == (900, True)
    assert max(steps) < 1050


def test_lrbump_has_two_attempts_and_has_recovered(loaded, stack):
    attempts = stack.get("runs/lrbump")["attempts"]
    assert [(a["number"], a["parent"], a["fork_step"]) for a in attempts] == [
        (0, None, None),
        (1, 0, 900),
    ]
    (incident,) = paging(loaded["lrbump"][1])
    assert incident["state"] == "resolved"


def test_sdc_rollback_is_one_incident_with_rank_5_first(loaded):
    (incident,) = paging(loaded["sdc_rollback"][1])
    first = incident["suspects"][0]
    assert 700 <= incident["onset_step"] <= 711
    assert (first["rank"], first["node"]) == (5, "gpu-b02")
    assert first["evidence"]


def test_sdc_rollback_goes_back_before_the_corruption(loaded):
    (incident,) = paging(loaded["sdc_rollback"][1])
    steps = [candidate["step"] for candidate in incident["candidates"]]
    assert steps[0] in (600, 700)
    assert max(steps) < 800


def test_badbatch_is_recorded_and_pages_nobody(loaded):
    incidents = loaded["badbatch"][1]
    assert paging(incidents) == []
    assert [incident["kind"] for incident in incidents] == ["outlier"]


def test_quiet_is_quiet(loaded):
    assert loaded["quiet"][1] == []


@pytest.mark.parametrize(("run", "rank"), [("hang_r5", 5), ("exc_r6", 6)])
def test_the_rank_that_failed_first_is_named_not_its_victims(loaded, run, rank):
    (incident,) = paging(loaded[run][1])
    first = incident["suspects"][0]
    assert incident["kind"] == "failure"
    assert (first["rank"], first["node"]) == (rank, "gpu-b02")


def test_a_hang_is_found_by_the_quiet_rank_rule(loaded):
    (incident,) = paging(loaded["hang_r5"][1])
    assert "hang" in incident["suspects"][0]["fault_class"]


@pytest.mark.parametrize("run", RUNS)
def test_nothing_was_refused_or_lost_on_the_way(loaded, stack, run):
    status = stack.get(f"runs/{run}/ingest")
    assert (status["quarantined"], status["counters"].get("gaps", 0)) == (0, 0)


def test_loading_again_adds_nothing(loaded, stack, tmp_path):
    before = stack.get("runs/exc_r6/ingest")["counters"]
    stack.manage("load", str(unpack("exc_r6", tmp_path)), "--run", "exc_r6", "--wait")
    after = stack.get("runs/exc_r6/ingest")["counters"]
    assert (after["points"], after["lines"]) == (before["points"], before["lines"])


def test_a_folder_without_a_run_is_an_error_that_says_so(stack, tmp_path):
    done = subprocess.run(
        [sys.executable, "manage.py", "load", str(tmp_path), "--run", "none"],
        cwd=ROOT,
        env=stack.env,
        capture_output=True,
        check=False,
    )
    assert done.returncode != 0
    assert str(tmp_path) in done.stderr.decode()
