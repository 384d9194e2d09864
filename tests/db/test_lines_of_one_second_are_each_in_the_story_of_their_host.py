"""host_story: an edge of a page between lines of one time loses none and doubles none."""

import pytest

from apps.core.records import NodeEvent
from apps.incidents import host_story
from apps.incidents.domain.storymark import ALWAYS, mark_of
from apps.nodes import services as nodes
from apps.nodes import store as events
from apps.nodes.domain.standing import Act, Deed
from tests.host_samples import died, started, suspect
from tests.incident_samples import at

pytestmark = pytest.mark.django_db


def pages(name):
    before = ALWAYS
    while before is not None:
        told = host_story.story(name, before)
        yield [(line.what, line.title, line.text) for line in told.lines]
        before = told.before and mark_of(str(told.before))


def storm(name, count, time_ns):
    events.record([NodeEvent(name, time_ns, f"kind_{n}", "info", f"no {n}") for n in range(count)])


def test_events_of_one_second_are_each_on_one_page(db):
    storm("gpu-0", 400, at(7))
    told = [line for page in pages("gpu-0") for line in page]
    assert len(told) == len(set(told)) == 400


def test_lines_of_all_sources_at_one_time_are_each_on_one_page(db):
    for number in range(70):
        run_id = started("r", number, {"gpu-0": [0]}, at(7))
    storm("gpu-0", 70, at(7))
    died(run_id, suspect("gpu-0", rank=0), now_ns=at(7))
    nodes.act(["gpu-0"], Deed(Act.CONFIRM, at(7), "ada", "for the test"))
    told = [line for page in pages("gpu-0") for line in page]
    assert len(told) == len(set(told))
    counts = {what: sum(line[0] == what for line in told) for what in ("attempt", "event")}
    assert counts == {"attempt": 70, "event": 70}


def test_events_that_were_not_read_yet_come_before_what_is_older(db):
    """Many sources tell the same: all that is read makes fewer lines than a page has."""
    for number in range(40):
        told = [
            NodeEvent("gpu-0", at(100 + number), "fan", "info", "slow", source=f"s{source}")
            for source in range(10)
        ]
        events.record(told)
    started("r", 0, {"gpu-0": [0]}, at(7))
    told = [line for page in pages("gpu-0") for line in page]
    assert told[-1][0] == "attempt"
    assert sum(what == "event" for what, _, _ in told) >= 40


@pytest.mark.parametrize(
    "text", ["", "x", "5~", "5~event~1", "5~who~1~2", "5~event~²~0", f"5~event~{2**128}~0"]
)
def test_a_text_that_is_no_place_is_none(text):
    assert mark_of(text) is None
