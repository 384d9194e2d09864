"""apps.ingest.alertmanager"""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.errors import BadPayload
from apps.core.records import NodeEvent
from apps.ingest.alertmanager.meaning import device_of, kind_of, node_of, severity_of
from apps.ingest.alertmanager.parse import parse
from apps.ingest.nodes import parse as nodes

START = "2026-11-30T02:11:09.412Z"
START_NS = 1_796_004_669_412_000_000
LABELS = {"alertname": "GpuXidErrors", "Hostname": "gpu-a01", "gpu": "3", "err_code": "79"}


def alert(labels=LABELS, **fields):
    fired = {"status": "firing", "startsAt": START, "endsAt": "0001-01-01T00:00:00Z"}
    return fired | {"labels": labels, "annotations": {}, "fingerprint": "c6ea"} | fields


def body(*alerts, **fields):
    sent = {"version": "4", "status": "firing", "alerts": alerts, "groupLabels": {}}
    return json.dumps(sent | fields).encode()


def event_of(sent):
    (event,) = parse(body(sent)).events
    return event


def test_an_alert_that_fires():
    seen = replace(event_of(alert(annotations={"summary": "Xid 79\n on GPU 3"})), raw="")
    assert seen == NodeEvent(
        "gpu-a01", START_NS, "xid_79", "critical", "GpuXidErrors: Xid 79 on GPU 3", "GPU 3",
        source="alertmanager", key="c6ea",
    )  # fmt: skip


def test_an_xid_without_words_is_told_by_its_number():
    message = event_of(alert()).message
    assert message.startswith("GpuXidErrors: the GPU fell off the bus (hardware): drain")


@pytest.mark.parametrize(
    ("fields", "lasted_ns"),
    [
        ({"status": "resolved", "endsAt": "2026-11-30T03:11:10.412+01:00"}, 1_000_000_000),
        ({"status": "resolved", "endsAt": "2026-11-29T00:00:00Z"}, 0),
        ({"status": "firing", "endsAt": "2026-11-30T05:00:00Z"}, None),
        ({"status": "firing"}, None),
    ],
    ids=["resolved", "resolved before it began", "a planned end", "year 1"],
)
def test_only_what_is_resolved_has_an_end(fields, lasted_ns):
    ended_ns = event_of(alert(**fields)).ended_ns
    assert (ended_ns if lasted_ns is None else ended_ns - START_NS) == lasted_ns


def test_what_becomes_no_event_is_counted():
    heard = parse(body(alert(), alert({"alertname": "Watchdog"}), truncatedAlerts=3))
    assert len(heard.events) == 1
    assert heard.left_out == {"alerts_without_node": 1, "alerts_cut": 3}


def test_a_time_too_far_ahead_is_the_last_one_there_is():
    far = "2117-01-01T00:00:00Z"
    heard = parse(body(alert(startsAt=far, status="resolved", endsAt=far)))
    assert [(event.time_ns, event.ended_ns) for event in heard.events] == [(2**62, 2**62)]
    assert nodes.parse(nodes.pack(heard)).events == heard.events


def test_a_batch_survives_the_way_through_the_stream():
    heard = parse(body(alert(), alert({"alertname": "Watchdog"})))
    assert nodes.parse(nodes.pack(heard)) == heard


@pytest.mark.parametrize(
    ("labels", "node"),
    [
        ({"node": "gpu-a01", "instance": "10.0.0.9:8080", "job": "kube-state-metrics"}, "gpu-a01"),
        ({"instance": "10.0.0.9:8080", "job": "kube-state-metrics"}, ""),
        ({"instance": "gpu-a01:9100", "job": "prometheus-node-exporter"}, "gpu-a01"),
        ({"instance": "[fe80::1]:9100", "job": "node"}, "fe80::1"),
        ({"instance": "localhost:9090", "job": "prometheus"}, ""),
        ({"lastgood_node": "gpu-a01", "instance": "10.0.0.1:9100", "Hostname": "x"}, "gpu-a01"),
        ({"Hostname": "gpu-a01", "instance": "10.0.0.1:9400"}, "gpu-a01"),
    ],
)
def test_the_node_is_what_the_alert_is_about(labels, node):
    assert node_of(labels) == node


@pytest.mark.parametrize(
    ("alertname", "kind"),
    [
        ("KubeNodeNotReady", "node_not_ready"),
        ("KubeNodeUnreachable", "node_not_ready"),
        ("InstanceDown", "node_down"),
        ("NodeClockSkewDetected", "clock"),
        ("NodeFilesystemAlmostOutOfSpace", "disk_full"),
        ("HostOomKillDetected", "oom_kill"),
        ("HostEdacCorrectableErrorsDetected", "ecc"),
        ("NodeRAIDDegraded", "disk"),
        ("NodeNetworkReceiveErrs", "network"),
        ("GPUHighTemperature", "thermal"),
        ("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "ecc"),
        ("NVLinkDown", "nvlink"),
        ("GpuXidErrors", "xid"),
        ("SnapshotTooOld", "alert"),
        ("", "alert"),
    ],
)
def test_the_kind_is_read_from_the_name(alertname, kind):
    assert kind_of({"alertname": alertname}) == kind


def test_a_rule_may_say_the_kind_itself():
    assert kind_of(LABELS | {"lastgood_kind": "burning"}) == "burning"


def test_a_number_that_is_no_xid_makes_none():
    assert kind_of({"alertname": "LoginFailed", "err_code": "79"}) == "alert"
    assert kind_of(LABELS | {"err_code": "0"}) == "xid"


@pytest.mark.parametrize(
    ("label", "severity"),
    [("Critical", "critical"), ("page", "critical"), ("high", "error"), ("none", "info"),
     ("warning", "warning"), ("odd", "warning"), ("", "error")],
)  # fmt: skip
def test_severities_become_four(label, severity):
    assert severity_of({"severity": label}, "error") == severity


def test_a_device_is_named_by_its_best_label():
    assert device_of({"gpu": "0", "pci_bus_id": "00000000:AE:00.0"}) == "00000000:AE:00.0"
    assert device_of({}) is None


@pytest.mark.parametrize(
    ("sent", "where"),
    [
        (b"", "body"),
        (b"[]", "body"),
        (body(version="3"), "version"),
        (body(alert(startsAt="yesterday")), "alerts[0].startsAt"),
        (body(alert(startsAt="0001-01-01T00:00:00Z")), "alerts[0].startsAt"),
        (body(alert(), alert({"alertname": 7})), "alerts[1].labels[...]"),
        (body(alert({str(n): "" for n in range(101)})), "alerts[0].labels"),
    ],
)
def test_a_wrong_body_names_the_field(sent, where):
    with pytest.raises(BadPayload) as refused:
        parse(sent)
    assert refused.value.where == where


texts = st.text(max_size=30)
times = st.datetimes().map(lambda at: f"{at.isoformat()}Z") | texts
maps = st.dictionaries(st.sampled_from([*LABELS, "instance", "severity", "xid"]) | texts, texts)
alerts = st.fixed_dictionaries(
    {"status": st.sampled_from(["firing", "resolved", "odd"]), "labels": maps, "startsAt": times},
    optional={"endsAt": times, "annotations": maps, "fingerprint": texts},
)
json_values = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


@given(st.lists(alerts | json_values, max_size=4), st.integers() | texts)
def test_any_body_is_read_or_refused_in_words(sent, cut):
    whole = {"version": "4", "alerts": sent} | ({} if cut == "" else {"truncatedAlerts": cut})
    try:
        heard = parse(json.dumps(whole).encode())
    except BadPayload as refused:
        assert refused.message
        assert refused.where
    else:
        again = nodes.parse(nodes.pack(heard))
        assert len(again.events) + heard.left_out["alerts_without_node"] == len(sent)
