"""incidents.hosts and host_story: a fixed number of statements; pages that leave nothing out."""

import pytest

from apps.incidents import host_story, hosts
from apps.incidents.domain.storymark import ALWAYS
from apps.nodes import hosts_store
from apps.nodes import services as nodes
from apps.nodes.domain.standing import Act, Deed, HostState
from apps.nodes.records import HostQuery
from tests.host_samples import died, started, suspect
from tests.incident_samples import at

pytestmark = pytest.mark.django_db
NOW = at(10_000)


def fleet(count, first=0):
    placed = {f"gpu-{n:04}": [2 * n, 2 * n + 1] for n in range(first, first + count)}
    return started(f"run-{first}", 0, placed, at(0))


@pytest.mark.parametrize("count", [1, 60])
def test_a_page_asks_five_statements_however_many_hosts_it_shows(
    db, django_assert_num_queries, count
):
    run_id = fleet(count)
    died(run_id, suspect("gpu-0000", rank=0), now_ns=NOW)
    with django_assert_num_queries(5):  # and one where a run is running
        found = hosts.rows(HostQuery(limit=50), NOW)
    assert len(found) == min(count, 50)
    assert found[0].record.words == "blamed in 1 of 1 attempt (1 of 1 run) in 30 d"


@pytest.mark.parametrize("attempts", [1, 12])
def test_the_story_of_a_host_asks_five(db, django_assert_num_queries, attempts):
    for number in range(attempts):
        started("r", number, {"gpu-0000": [0], f"gpu-x{number}": [1]}, at(number))
    with django_assert_num_queries(5):
        told = host_story.story("gpu-0000")
    assert len(told.lines) == attempts


def test_pages_of_a_story_leave_nothing_out(db):
    for number in range(130):
        started("r", number, {"gpu-0000": [0]}, at(number))
    seen, before = [], ALWAYS
    while before is not None:
        told = host_story.story("gpu-0000", before)
        seen += [line.attempt for line in told.lines]
        before = told.before
    assert seen == list(reversed(range(130)))


@pytest.mark.parametrize("size", [1, 5, 12])
def test_pages_of_the_list_hold_every_host_once_the_worst_first(db, size):
    fleet(12)
    for state, names in {Act.CONFIRM: ["gpu-0007"], Act.CORDON: ["gpu-0001", "gpu-0009"]}.items():
        nodes.act(names, Deed(state, NOW, "ada", "for the test"))
    hosts_store.set_scores({"gpu-0005": 2.0, "gpu-0003": 1.0})
    seen, after = [], None
    while True:
        page = hosts_store.list_hosts(HostQuery(limit=size, after=after))
        seen += [host.name for host in page]
        if len(page) < size:
            break
        after = hosts.place_of(hosts.mark(page[-1]))
    assert seen[:5] == ["gpu-0007", "gpu-0001", "gpu-0009", "gpu-0005", "gpu-0003"]
    assert sorted(seen) == [f"gpu-{n:04}" for n in range(12)]


def test_groups_are_racks_or_what_names_have_in_common(db):
    started("r", 0, {"gpu-a01.x.org": [0], "gpu-a02": [1], "rack7-gpu-1": [2], "77": [3]}, at(0))
    hosts_store.set_racks({"gpu-a02": "row 1"})
    assert {one.group: one.hosts for one in hosts_store.groups()} == {
        "": 1, "gpu-a": 1, "rack7-gpu": 1, "row 1": 1,
    }  # fmt: skip
    nodes.act(["77"], Deed(Act.CONFIRM, NOW, "ada", "dead"))
    first = hosts_store.groups()[0]
    assert (first.group, first.ill, first.counts) == ("", 1, {HostState.CONFIRMED: 1})
