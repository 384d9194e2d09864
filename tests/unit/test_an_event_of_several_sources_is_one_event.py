"""apps.nodes.domain.merging"""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.records import NodeEvent
from apps.nodes.domain.merging import LATER_NS, SOON_NS, merge
from apps.nodes.domain.telling import said

NS = 10**9
KMSG = NodeEvent("a", 1_000 * NS, "xid_79", "error", "Xid 79", "0000:ae:00", "kernel (kmsg)")
JOURNAL = replace(KMSG, time_ns=1_000 * NS + 9, source="kernel (journald)")
ALERT = replace(
    KMSG, time_ns=1_090 * NS, source="alertmanager", device="GPU 3", severity="critical",
    message="GpuXid", ended_ns=1_690 * NS,
)  # fmt: skip


def test_two_readers_of_a_log_and_an_alert_are_one_event():
    (event,) = merge([ALERT, JOURNAL, KMSG])
    assert event == replace(
        KMSG, severity="critical", ended_ns=1_690 * NS,
        source="alertmanager, kernel (journald), kernel (kmsg)",
    )  # fmt: skip


def test_what_one_source_says_twice_happened_twice():
    again = [replace(event, time_ns=event.time_ns + NS) for event in (KMSG, JOURNAL)]
    assert len(merge([KMSG, JOURNAL, *again, ALERT])) == 2


@pytest.mark.parametrize(
    "other",
    [
        replace(ALERT, node="b"),
        replace(ALERT, kind="xid_48"),
        replace(ALERT, device="00000000:AF:00.0"),
        replace(ALERT, time_ns=KMSG.time_ns + LATER_NS + 1),
        replace(JOURNAL, time_ns=KMSG.time_ns + SOON_NS + 1),
    ],
    ids=["node", "kind", "device", "much later", "later in the same log"],
)
def test_something_else_stays_apart(other):
    assert len(merge([KMSG, other])) == 2


@pytest.mark.parametrize("device", ["00000000:AE:00.0", None, "GPU-604ac76c-d9cf-fef3", "GPU 3"])
def test_a_device_may_be_named_in_other_ways(device):
    (event,) = merge([KMSG, replace(ALERT, device=device)])
    assert event.device == "0000:ae:00"


def test_two_alerts_of_different_gpus_stay_apart():
    two = [ALERT, replace(ALERT, source="api", device="GPU 4")]
    assert len(merge(two)) == 2


def test_the_sources_and_the_length_are_told():
    words = "a: xid_79 [GPU 3] GpuXid (from alertmanager, ended after 10 min)"
    assert said(ALERT) == words
    assert said(replace(ALERT, source="api", device=None, ended_ns=None)) == "a: xid_79 GpuXid"


events = st.builds(
    NodeEvent,
    st.sampled_from("ab"),
    st.integers(0, 2_000).map(lambda s: s * NS),
    st.sampled_from(["xid_79", "thermal"]),
    st.sampled_from(["info", "warning", "critical"]),
    st.just("m"),
    st.sampled_from([None, "0000:ae:00", "0000:af:00.0", "GPU 3", "sda"]),
    st.sampled_from(["api", "alertmanager", "kernel (kmsg)", "kernel (journald)"]),
)


@given(st.lists(events, max_size=12))
def test_nothing_is_lost_and_nothing_of_one_source_merged(told):
    merged = merge(told)
    sources = Counter(name for event in merged for name in event.source.split(", "))
    assert sources == Counter(event.source for event in told)
    assert [e.time_ns for e in merged] == sorted(e.time_ns for e in merged)
    kinds = Counter((e.node, e.kind) for e in merged)
    for (node, kind, _), count in Counter((e.node, e.kind, e.source) for e in told).items():
        assert kinds[node, kind] >= count


@given(
    st.lists(events, max_size=12, unique_by=lambda e: (e.time_ns, e.node, e.source)), st.randoms()
)
def test_the_order_of_arrival_does_not_matter(told, random):
    mixed = random.sample(told, len(told))
    assert merge(mixed) == merge(told)


@pytest.mark.parametrize(
    ("one", "other"),
    [("mce", "ecc"), ("gpu_off_bus", "xid_79"), ("node_down", "node_not_ready"),
     ("sxid_fatal", "sxid_nonfatal"), ("killed", "oom_kill")],
)  # fmt: skip
def test_sources_have_words_of_their_own_for_one_thing(one, other):
    (event,) = merge([replace(KMSG, kind=one), replace(ALERT, kind=other)])
    kind = "xid_79" if one == "gpu_off_bus" else one
    assert (event.kind, event.source) == (kind, "alertmanager, kernel (kmsg)")


@pytest.mark.parametrize("first", [1, -1], ids=["number first", "text first"])
def test_a_log_that_says_one_thing_in_two_ways_says_one_event(first):
    text = replace(KMSG, kind="gpu_off_bus", message="(no Xid)", time_ns=KMSG.time_ns + first * 9)
    (event,) = merge([KMSG, text, JOURNAL])
    assert (event.kind, event.message) == ("xid_79", "Xid 79")
    assert event.time_ns == min(KMSG.time_ns, text.time_ns)


@pytest.mark.parametrize(
    "other",
    [replace(KMSG, device="0000:af:00"), replace(KMSG, time_ns=KMSG.time_ns + SOON_NS + 1)],
    ids=["another GPU", "later"],
)
def test_but_not_of_two_gpus_nor_much_later(other):
    assert len(merge([KMSG, replace(other, kind="gpu_off_bus")])) == 2
