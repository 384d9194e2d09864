"""Six real runs through the real doors: what the API says of each is what happened."""

import json
from contextlib import closing

import pytest

from workers.demo.folder import read_folder
from workers.demo.loading import Reader, Target, load
from workers.demo.recordings import unpack

RUNS = ("lrbump", "sdc_rollback", "badbatch", "quiet", "hang_r5", "exc_r6")


@pytest.fixture(scope="module")
def command(stack):
    """`manage.py load --wait` on a folder; the summary that it prints."""

    def summary(run, folder):
        words = ("load", str(folder), "--run", run, "--wait", "--timeout", "120")
        printed = stack.manage(*words, "--url", stack.url)
        return json.loads(printed[printed.index("{") :])

    return summary


@pytest.fixture(scope="module")
def loaded(stack, command, tmp_path_factory):
    """run -> (summary, incidents of the API). One run is loaded by the command, the others by what
    the command calls: sent one after the other, then waited for."""
    folders = {run: unpack(run, tmp_path_factory.mktemp(run)) for run in RUNS}
    sent = {run: send(stack, run, folders[run]) for run in RUNS[:-1]}
    summaries = {RUNS[-1]: command(RUNS[-1], folders[RUNS[-1]])}
    summaries |= {run: {"sent": sent[run], **seen(stack, run)} for run in sent}
    return {run: (summaries[run], stack.get(f"incidents?run={run}")["items"]) for run in RUNS}


def send(stack, run, folder):
    return load(read_folder(folder), Target(stack.url, stack.token, run), folder.parent)


def seen(stack, run):
    """What is said of a run once all that was sent is analysed."""
    with closing(Reader(Target(stack.url, stack.token, run))) as reader:
        reader.wait(120)
        return reader.summary()


def paging(incidents):
    return [incident for incident in incidents if incident["page"]]


def steps_of(candidates):
    return [candidate["step"] for candidate in candidates]


def test_lrbump_explodes_when_the_learning_rate_jumps(loaded):
    (incident,) = paging(loaded["lrbump"][1])
    assert incident["kind"] == "explosion"
    assert incident["onset_step"] in (1000, 1001)
    assert incident["cause_hint"] == "learning rate changed at the same step"


def test_lrbump_can_go_back_one_save_more_than_900_and_never_behind_the_onset(loaded):
    (incident,) = paging(loaded["lrbump"][1])
    steps = steps_of(incident["candidates"])
    assert (steps[0], incident["candidates"][0]["eligible"]) == (750, True)
    assert max(steps) < 1050


def test_lrbump_has_two_attempts_and_has_recovered(loaded, stack):
    attempts = stack.get("runs/lrbump")["attempts"]
    assert [(a["number"], a["parent"], a["fork_step"]) for a in attempts] == [
        (0, None, None),
        (1, 0, 900),
    ]
    assert [(a["first_step"], a["last_step"]) for a in attempts] == [(0, 1259), (900, 1499)]
    (incident,) = paging(loaded["lrbump"][1])
    assert incident["state"] == "resolved"


def test_sdc_rollback_is_one_incident_with_rank_5_and_its_host_first(loaded):
    (incident,) = loaded["sdc_rollback"][1]
    first = incident["suspects"][0]
    assert incident["page"]
    assert 700 <= incident["onset_step"] <= 711
    assert (first["rank"], first["node"]) == (5, "gpu-b02")
    assert first["evidence"]


def test_sdc_rollback_goes_back_before_the_corruption(loaded):
    (incident,) = loaded["sdc_rollback"][1]
    eligible = [c for c in incident["candidates"] if c["eligible"]]
    assert steps_of(incident["candidates"])[0] == steps_of(eligible)[0]
    assert steps_of(eligible)[0] in (600, 700)
    assert max(steps_of(incident["candidates"])) < 800


def test_badbatch_is_recorded_and_pages_nobody(loaded):
    incidents = loaded["badbatch"][1]
    assert [(incident["kind"], incident["page"]) for incident in incidents] == [("outlier", False)]


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


@pytest.mark.parametrize(
    ("run", "shape", "causes", "headline"),
    [
        ("lrbump", "divergence", ["learning_rate"], "learning rate changed at the same step"),
        ("sdc_rollback", "level shift", ["hardware"], "rank 5 (gpu-b02) is apart from all other"),
        ("badbatch", "spike that healed", ["data"], "the spike healed by itself: the data of step"),
        ("hang_r5", "dead job", ["failure"], "Rank 5 on gpu-b02 "),
    ],
)
def test_the_card_of_each_incident_names_its_cause(loaded, stack, run, shape, causes, headline):
    (incident,) = loaded[run][1]
    card = stack.get(f"incidents/{incident['id']}")["card"]
    assert (card["shape"], card["headline"].startswith(headline)) == (shape, True)
    assert [c["cause"] for c in card["causes"] if c["confidence"] >= 0.4][:1] == causes
    assert (card["skip"] is not None) == (causes == ["data"])
    assert card["sentence"].startswith(f"Suggestion: {card['advice']}")


@pytest.mark.parametrize("run", RUNS)
def test_nothing_was_refused_or_lost_on_the_way(loaded, stack, run):
    status = stack.get(f"runs/{run}/ingest")
    assert (status["quarantined"], status["counters"].get("gaps", 0)) == (0, 0)
    assert loaded[run][0]["sent"]["dead_letters"] == 0


@pytest.mark.parametrize("run", RUNS)
def test_what_load_prints_is_what_the_api_says(loaded, run):
    summary, incidents = loaded[run]
    assert [
        (i["kind"], i["page"], i["onset_step"], i["cause_hint"], steps_of(i["candidates"]))
        for i in summary["incidents"]
    ] == [
        (i["kind"], i["page"], i["onset_step"], i["cause_hint"], steps_of(i["candidates"]))
        for i in incidents
    ]
    assert [s["rank"] for i in summary["incidents"] for s in i["suspects"]] == [
        s["rank"] for i in incidents for s in i["suspects"]
    ]


def test_loading_again_adds_nothing(loaded, command, stack, tmp_path):
    before = stack.get("runs/exc_r6/ingest")["counters"]
    again = command("exc_r6", unpack("exc_r6", tmp_path))
    after = stack.get("runs/exc_r6/ingest")["counters"]
    assert (after["points"], after["lines"]) == (before["points"], before["lines"])
    assert {**again, "sent": 0} == {**loaded["exc_r6"][0], "sent": 0}


def test_a_folder_without_a_run_is_an_error_that_says_so(stack, tmp_path):
    with pytest.raises(
        AssertionError, match=r"CommandError: .*holds neither torchrun logs"
    ) as said:
        stack.manage("load", str(tmp_path), "--run", "none", "--url", stack.url)
    assert str(tmp_path) in str(said.value)
