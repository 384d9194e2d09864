"""`make demo` at twenty times the recorded speed: from the first step to "recovered"."""

import subprocess
import sys

import httpx
import pytest

from tests import servers
from tests.mailbox import inline_plots, mails_about, parts_of, post_office
from tests.stack import QUICK
from tests.system.processes import ROOT, Foreground, child, eventually, living

RUNS = {"lrbump": 900, "sdc_rollback": 600}
WITHIN_S = 180
"""Whatever is waited for; far less on a machine that does nothing else."""


@pytest.fixture(scope="module")
def mailbox():
    with post_office() as box:
        yield box


@pytest.fixture(scope="module")
def demo(mailbox, tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    servers.give_database(home)
    running = Foreground(
        home,
        module="workers.demo",
        SPEED="20",
        EMAIL_URL=mailbox.url,
        ALERT_RECIPIENTS="oncall@example.test",
    )
    running.line("Lastgood is ready", within_s=WITHIN_S)
    yield running
    running.close()


@pytest.fixture(scope="module")
def api(demo):
    """A client of the demo's API, as a person with a token would use it."""
    words = [sys.executable, "manage.py", "token", "test", "--scope", "read,operate", QUICK]
    environment = {"LASTGOOD_HOME": str(demo.home), "PATH": "/usr/bin:/bin"}
    made = subprocess.run(
        words, cwd=ROOT, env=environment, check=True, capture_output=True, text=True
    )
    headers = {"Authorization": f"Bearer {made.stdout.strip()}"}
    base = f"http://127.0.0.1:{demo.port}/api/v1"
    with httpx.Client(base_url=base, headers=headers, timeout=30, trust_env=False) as client:
        yield client


def page_of(api, run):
    items = api.get("/incidents", params={"run": run}).json()["items"]
    return next((item for item in items if item["page"]), None)


@pytest.fixture(scope="module")
def pages(api):
    """The page of each run, once it is there."""
    return {
        run: eventually(lambda run=run: page_of(api, run), WITHIN_S, f"a page of {run}")
        for run in RUNS
    }


@pytest.fixture(scope="module")
def orders(api, pages):
    """A rollback of each run, followed to its verdict. It waits for a suspect: an order stops the
    ranks, and on a busy machine before one of them stands apart."""
    eventually(lambda: page_of(api, "sdc_rollback")["suspects"], WITHIN_S, "a suspect")
    for run, step in RUNS.items():
        order = {"step": step, "confirm": str(step), "reason": "test", "idempotency_key": run}
        answer = api.post(f"/runs/{run}/rollback", json=order)
        assert answer.is_success, f"{answer.text} {pages[run]}"

    def ended(run):
        order = api.get(f"/runs/{run}/orders").json()["items"][0]
        return None if order["active"] else order

    return {run: eventually(lambda run=run: ended(run), WITHIN_S, f"{run} judged") for run in RUNS}


def test_the_notes_follow_the_ready_line(demo):
    eventually(lambda: "Ctrl-C stops everything." in demo.lines, WITHIN_S, "the notes")


def test_the_explosion_is_noticed_live(pages):
    page = pages["lrbump"]

    assert (page["kind"], page["cause_hint"]) == (
        "explosion",
        "learning rate changed at the same step",
    )
    assert page["onset_step"] in (1000, 1001)
    assert page["candidates"][0]["step"] == 900


def test_the_corruption_is_noticed_live(pages):
    assert 700 <= pages["sdc_rollback"]["onset_step"] <= 711


@pytest.mark.parametrize(("run", "step"), RUNS.items())
def test_the_launcher_obeys_and_the_run_recovers(orders, run, step):
    order = orders[run]

    assert order["state"] == "recovered"
    assert (order["resumed_attempt"], order["resumed_step"]) == (1, step)
    assert [line["after"] for line in order["history"]] == [
        "requested",
        "acknowledged",
        "resumed",
        "recovered",
    ]


def test_the_incidents_end_as_recovered_and_name_the_rank(api, orders):
    found = {item["run"]: item for item in api.get("/incidents").json()["items"] if item["page"]}

    assert {item["resolution"] for item in found.values()} == {"recovered"}
    suspect = found["sdc_rollback"]["suspects"][0]
    assert (suspect["rank"], suspect["node"]) == (5, "gpu-b02")


@pytest.mark.parametrize(("run", "step"), RUNS.items())
def test_each_incident_sent_one_opening_and_one_closing_mail(mailbox, orders, run, step):
    opening, closing = eventually(
        lambda: len(found := mails_about(mailbox, run)) == 2 and found, WITHIN_S, "two mails"
    )
    assert parts_of(opening) == {"text/plain", "text/html", "image/png"}
    assert len(inline_plots(opening)) == 1
    assert str(step) in opening.get_body(("plain",)).get_content()
    assert closing["Subject"] == f"Re: {opening['Subject']}"
    assert closing.get_body(("plain",)).get_content().startswith("RESOLVED after")
    assert opening["References"] == closing["References"]


def test_nothing_was_refused(api, orders):
    assert api.get("/ingest/quarantine").json()["items"] == []


def test_ctrl_c_ends_the_cluster_and_its_agents(demo, orders):
    assert child(demo.home, "demo_cluster")
    assert child(demo.home, "workers.tailer")

    assert demo.end() == 0
    eventually(lambda: not living(demo.home), WITHIN_S, "all processes gone")
