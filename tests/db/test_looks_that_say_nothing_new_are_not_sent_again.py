"""workers.listener.taking"""

from dataclasses import replace

import pytest

from apps.core.errors import AppError
from apps.core.records import NodeEvent
from apps.ingest import stream
from apps.ingest.envelope import unpack
from apps.ingest.nodes.parse import NodeBatch, parse
from apps.nodes.domain.conditions import Look, Reading
from workers.listener.taking import MAX_LOOKS, Taker

HOT = Reading("temp 3", "thermal", "warning", "hot", "GPU 3")


def batch(at_ns=10, *readings, nodes=1):
    looks = (Look("dcgm", f"a{n}", at_ns, readings or (HOT,)) for n in range(nodes))
    return NodeBatch((), {}, tuple(looks))


@pytest.fixture
def bodies(valkey, settings):
    settings.INGEST_ACK = "always"

    def sent():
        return [parse(unpack(f[b"e"]).body) for _, f in valkey.xrange(stream.STREAM)]

    return sent


def test_the_same_look_later_is_no_news(bodies):
    taker = Taker()
    assert [taker.take("s", batch(at)) for at in (10, 20, 30)] == [1, 0, 0]
    assert len(bodies()) == 1


def test_an_event_that_is_told_again_is_no_news_until_it_has_ended(bodies):
    taker, open_ = Taker(), NodeEvent("a1", 10, "xid_79", "critical", "off the bus")
    told = [(open_,), (open_,), (replace(open_, ended_ns=30),), (open_,)]
    assert [taker.take("s", NodeBatch(events)) for events in told] == [1, 0, 1, 0]
    assert [body.events[0].ended_ns for body in bodies()] == [None, 30]


def test_of_many_nodes_only_those_that_changed(bodies):
    taker = Taker()
    taker.take("s", batch(nodes=3))
    cold = Reading("temp 3", "thermal", "", "hot", "GPU 3")
    changed = (*batch(20, nodes=2).looks, Look("dcgm", "a2", 20, (cold,)))
    assert taker.take("s", NodeBatch((), {}, changed)) == 1
    assert [look.node for look in bodies()[-1].looks] == ["a2"]


def test_a_fleet_comes_in_several_bodies(bodies):
    assert Taker().take("s", batch(nodes=MAX_LOOKS + 1)) == MAX_LOOKS + 1
    assert [len(body.looks) for body in bodies()] == [MAX_LOOKS, 1]


def test_what_was_refused_is_said_again(bodies, settings):
    taker = Taker()
    taker.take("other", batch())  # an empty stream takes whatever comes
    settings.INGEST_STREAM_MAX_BYTES = 1
    with pytest.raises(AppError, match="the stream is full"):
        taker.take("s", batch())
    settings.INGEST_STREAM_MAX_BYTES = 1 << 30
    assert taker.take("s", batch(20)) == 1
    assert len(bodies()) == 2
