"""`manage.py load`: recorded runs through the real doors, and what Lastgood says about them."""

import json

import pytest

from workers.demo import recordings


@pytest.fixture(scope="module")
def loaded(stack, tmp_path_factory):
    """name -> summary that `load --wait` prints; each run is loaded once."""
    folder = tmp_path_factory.mktemp("recordings")
    known = {}

    def load(name):
        if name not in known:
            run = recordings.unpack(name, folder)
            words = ("load", str(run), "--run", f"load-{name}", "--wait", "--timeout", "120")
            known[name] = json.loads(stack.manage(*words, "--url", stack.url))
        return known[name]

    return load


def pages(summary):
    return [incident for incident in summary["incidents"] if incident["page"]]


def eligible(incident):
    return [c["step"] for c in incident["candidates"] if c["eligible"]]


def test_an_exploded_run_has_one_page_its_cause_and_the_last_good_checkpoint(loaded):
    summary = loaded("lrbump")
    (page,) = pages(summary)

    assert (page["kind"], page["cause_hint"]) == (
        "explosion",
        "learning rate changed at the same step",
    )
    assert page["onset_step"] in (1000, 1001)
    assert page["candidates"][0]["step"] == 900
    assert max(c["step"] for c in page["candidates"]) < 1050
    assert [(a["first_step"], a["last_step"]) for a in summary["attempts"]] == [
        (0, 1259),
        (900, 1499),
    ]
    assert (summary["quarantined"], summary["sent"]["dead_letters"]) == (0, 0)


def test_silent_corruption_names_the_rank_and_its_host_first(loaded):
    (incident,) = loaded("sdc_rollback")["incidents"]

    assert 700 <= incident["onset_step"] <= 711
    assert (incident["suspects"][0]["rank"], incident["suspects"][0]["node"]) == (5, "gpu-b02")
    assert eligible(incident)[0] in (700, 600)
    assert max(c["step"] for c in incident["candidates"]) < 800


def test_a_spike_that_heals_pages_nobody(loaded):
    incidents = loaded("badbatch")["incidents"]

    assert [(i["kind"], i["page"]) for i in incidents] == [("outlier", False)]


def test_a_quiet_run_has_no_incident(loaded):
    assert loaded("quiet")["incidents"] == []


@pytest.mark.parametrize(("name", "rank"), [("hang_r5", 5), ("exc_r6", 6)])
def test_the_rank_that_failed_first_is_named(loaded, name, rank):
    (page,) = pages(loaded(name))

    assert (page["suspects"][0]["rank"], page["suspects"][0]["node"]) == (rank, "gpu-b02")


def test_a_second_load_of_the_same_folder_adds_nothing(loaded, stack, tmp_path):
    first = loaded("exc_r6")
    run = recordings.unpack("exc_r6", tmp_path)

    words = ("load", str(run), "--run", "load-exc_r6", "--wait", "--url", stack.url)
    second = json.loads(stack.manage(*words))

    assert {**second, "sent": 0} == {**first, "sent": 0}


def test_a_wrong_folder_is_one_line(stack, tmp_path):
    with pytest.raises(AssertionError, match=r"CommandError: .*holds neither torchrun logs"):
        stack.manage("load", str(tmp_path), "--run", "x", "--url", stack.url)
