"""The list of incidents: order, filters, search, keyset pages, what it says when it is empty."""

import re

import pytest

from apps.incidents import services, store
from apps.incidents.store import IncidentQuery
from apps.runs import store as runs
from tests.incident_samples import PAGE, WARN, at, finding
from tests.rollback_story import ADA

NOW = at(9_000)


def make(key, kind="explosion", severity=PAGE, step=1000):
    """One incident of a run of its own."""
    run_id = runs.ensure_run(key)
    said = finding(f"{key}:{kind}", kind, step, severity, title=f"{kind} of {key}")
    return run_id, services.absorb(run_id, 0, [said], NOW)[0].incident_id


def listed(client, query=""):
    page = client.get(f"/incidents/?{query}").content.decode()
    return [int(number) for number in re.findall(r'href="/incidents/(\d+)/" data-item', page)]


@pytest.fixture
def five(db, valkey):
    """Ids of incidents, the least urgent first."""
    made = {
        "resolved": make("a"),
        "mitigated": make("b"),
        "acknowledged": make("c"),
        "warning": make("d", "plateau", WARN),
        "critical": make("e"),
    }
    services.resolve(*made["resolved"], "manual", NOW)
    services.mitigate(*made["mitigated"], now_ns=NOW)
    services.acknowledge(*made["acknowledged"], actor=ADA, now_ns=NOW)
    return {name: number for name, (_, number) in made.items()}


def test_what_waits_for_somebody_comes_first(operator, five):
    assert listed(operator) == list(reversed(five.values()))


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("state=unresolved", ["critical", "warning", "acknowledged", "mitigated"]),
        ("state=mitigated", ["mitigated"]),
        ("severity=warn", ["warning"]),
        ("kind=plateau", ["warning"]),
        ("run=e", ["critical"]),
        ("run=nobody", []),
        ("owner=ada", ["acknowledged"]),
        ("owner=%40me", ["acknowledged"]),
        ("owner=%40nobody&state=open", ["critical", "warning"]),
        ("q=plateau+OF", ["warning"]),
        ("q=100%25", []),
        (
            "state=odd&severity=odd",
            ["critical", "warning", "acknowledged", "mitigated", "resolved"],
        ),
    ],
)
def test_the_list_is_filtered(operator, five, query, names):
    assert listed(operator, query) == [five[name] for name in names]


@pytest.mark.parametrize("text", ["INC-{}", "inc-{}", "{}"])
def test_an_incident_is_found_by_its_number(operator, five, text):
    found = listed(operator, f"q={text.format(five['warning'])}")
    assert five["warning"] in found


def test_pages_go_on_where_the_last_one_ended(five):
    seen, after = [], None
    while page := store.list_urgent(IncidentQuery(limit=2), after):
        seen += [incident.id for _, incident in page]
        after = page[-1][0], page[-1][1].id
    assert seen == list(reversed(five.values()))


def test_the_states_tell_how_many_they_hold(operator, five):
    page = operator.get("/incidents/").content.decode()
    words = re.sub(r"<[^>]+>", " ", page)
    assert re.search(r"not over\s+4", words) and re.search(r"open\s+2", words)
    assert re.search(r"mitigated\s+1", words)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("", "No incident yet."),
        ("state=unresolved", "Nothing waits for you."),
        ("state=mitigated", "No incident is mitigated."),
        ("q=x", "No incident is like this."),
        ("after=5-1", "That was the last one."),
    ],
)
def test_an_empty_list_says_why(operator, valkey, query, words):
    assert words in operator.get(f"/incidents/?{query}").content.decode()


def test_what_was_asked_for_stays_in_the_links_and_is_only_text(operator, five):
    page = operator.get("/incidents/", {"q": '"><script>', "state": "open"}).content.decode()
    assert "<script>" not in page.split("<main")[1]
    assert "?state=mitigated&amp;q=%22%3E%3Cscript%3E" in page
