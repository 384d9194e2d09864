"""workers.listener.watching against a small API server; what it takes waits in the stream."""

import asyncio

import pytest

from apps.ingest import stream
from apps.ingest.envelope import unpack
from apps.ingest.nodes.parse import parse
from tests.fake_kubernetes import TOKEN, serving
from workers.listener.cluster import Cluster
from workers.listener.fetching import Unreached, Way
from workers.listener.taking import Taker
from workers.listener.watching import Watch

SINCE = "2026-11-30T02:11:00Z"
BAD = {"conditions": [{"type": "Ready", "status": "False", "reason": "KubeletNotReady",
                       "message": "PLEG", "lastTransitionTime": SINCE}]}  # fmt: skip
KILLED = {"lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled",
                                       "finishedAt": "2026-11-30T02:11:38Z"}}}  # fmt: skip


@pytest.fixture
def cluster(valkey, settings):
    settings.NODE_TARGETS = "loopback"
    settings.INGEST_ACK = "always"
    with serving() as running:
        yield running


async def directly(work, *args):
    return work(*args)


def watch(cluster, resource="nodes", token=TOKEN, **more):
    """A watch as a listener that has just started makes it."""
    api = Cluster(cluster.url, Way(token=token))
    return Watch("k", api, resource, Taker(), lambda told, batch: None, directly, only=False,
                 **more)  # fmt: skip


def rounds(one, count=1):
    async def go():
        for _ in range(count):
            await one.round()

    asyncio.run(go())


def taken(valkey):
    """Nodes and kinds of everything that was taken, in its order."""
    found = []
    for _, fields in valkey.xrange(stream.STREAM):
        batch = parse(unpack(fields[b"e"]).body)
        found += [(look.node, one.kind) for look in batch.looks
                  for one in look.readings if one.level]  # fmt: skip
        found += [(event.node, event.kind) for event in batch.events]
    return found


def test_what_is_there_is_listed_page_by_page_then_watched(cluster, valkey):
    cluster.page = 2
    for n in range(5):
        cluster.put("nodes", f"a{n}", status=BAD if n == 4 else {})
    rounds(one := watch(cluster))
    assert taken(valkey) == [("a4", "node_not_ready")]
    cluster.put("nodes", "a1", spec={"unschedulable": True})
    rounds(one)
    assert taken(valkey)[1:] == [("a1", "cordoned")]
    assert sum("watch" not in path for path in cluster.asked) == 3


def test_one_that_starts_again_goes_on_from_the_last_version(cluster, valkey):
    cluster.put("nodes", "a1")
    rounds(watch(cluster))
    cluster.put("nodes", "a1", status=BAD)
    rounds(watch(cluster))
    assert taken(valkey) == [("a1", "node_not_ready")]
    assert sum("watch" not in path for path in cluster.asked) == 1


def test_a_forgotten_version_lists_everything_again(cluster, valkey):
    rounds(one := watch(cluster))
    cluster.put("nodes", "a1", status=BAD)
    cluster.oldest = cluster.version
    rounds(one, 2)
    assert taken(valkey) == [("a1", "node_not_ready")]
    assert sum("watch" not in path for path in cluster.asked) == 2


def test_what_a_watch_lost_in_silence_is_heard_by_the_next_list(cluster, valkey):
    cluster.put("nodes", "a1", status=BAD)
    cluster.put("nodes", "a2")
    rounds(one := watch(cluster, list_every_s=0))
    cluster.put("nodes", "a2", status=BAD)
    cluster.log.clear()
    rounds(one, 2)
    assert taken(valkey) == [("a1", "node_not_ready"), ("a2", "node_not_ready")]
    assert sum("watch" not in path for path in cluster.asked) == 3


def test_a_heartbeat_is_no_news(cluster, valkey):
    cluster.put("nodes", "a1", status=BAD)
    rounds(one := watch(cluster))
    cluster.put("nodes", "a1", status=BAD)
    rounds(one)
    assert len(valkey.xrange(stream.STREAM)) == 1


def test_pods_and_events_of_a_namespace(cluster, valkey):
    spec = {"nodeName": "a1"}
    cluster.put("pods", "w-1", spec=spec, status={"containerStatuses": [KILLED]})
    rounds(watch(cluster, "pods", space="llm"))
    cluster.put("events", "e", involvedObject={"kind": "Node", "name": "a2"}, reason="Rebooted",
                lastTimestamp="2026-11-30T02:12:00Z", type="Warning")  # fmt: skip
    rounds(watch(cluster, "events"))
    assert taken(valkey) == [("a1", "oom_kill"), ("a2", "reboot")]
    assert cluster.asked[0].startswith("/api/v1/namespaces/llm/pods?")
    assert "fieldSelector=type%21%3DNormal" in cluster.asked[-1]


def test_a_node_that_was_deleted_is_an_event(cluster, valkey):
    cluster.put("nodes", "a1", status=BAD)
    rounds(one := watch(cluster))
    cluster.put("nodes", "a1", "DELETED")
    rounds(one)
    assert taken(valkey)[1:] == [("a1", "node_removed")]


def test_a_wrong_token_is_said_and_never_shown(cluster):
    with pytest.raises(Unreached, match="HTTP 401") as refused:
        rounds(watch(cluster, token="wrong-secret"))
    assert "wrong-secret" not in str(refused.value)


@pytest.mark.parametrize("url", ["http://169.254.169.254", "http://[fe80::1]"])
def test_addresses_that_hand_out_credentials_are_never_asked(cluster, url):
    cluster_elsewhere = Cluster(url, Way(token=TOKEN))
    one = Watch("k", cluster_elsewhere, "nodes", Taker(), print, directly)
    with pytest.raises(Unreached, match="NODE_TARGETS"):
        rounds(one)
