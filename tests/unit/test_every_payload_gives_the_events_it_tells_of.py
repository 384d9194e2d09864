"""The doors of node events: a table of our samples, and every mutation of them."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.core.errors import BadPayload
from apps.ingest.kubernetes.meaning import CONDITIONS, REASONS
from apps.ingest.nodes.parse import LEFT_OUT
from apps.ingest.nodes.views import DOORS
from apps.nodes.domain import linktext
from tests.node_samples import FOLDER, SAMPLES, heard, said, sender_for

LATER = 3_600
TOLD = {
    "alertmanager.json": [
        "gpu-a01 +0 xid_79 critical GPU 3", "gpu-a02 -4269 disk_full warning /scratch",
    ],
    "dcgm.prom": [
        f"gpu-a01 +{LATER} thermal warning GPU-11aa22bb-0000-1111-2222-333344446666",
        f"gpu-a01 +{LATER} xid_48 info GPU-11aa22bb-0000-1111-2222-333344445555",
        f"gpu-a01 +{LATER} thermal warning GPU-11aa22bb-0000-1111-2222-333344446666",
        f"gpu-a01 +{LATER} ecc critical GPU-11aa22bb-0000-1111-2222-333344445555",
    ],
    "node.prom": [
        f"gpu-a01 +{LATER} exporter_down warning",
        f"gpu-a01 +{LATER} filesystem_readonly info /scratch",
        f"gpu-a01 +{LATER} oom_kill info",
        f"gpu-a01 +{LATER} clock warning",
        f"gpu-a01 +{LATER} disk_full error /",
    ],
    "dmesg.log": ["gpu-a01 +0 xid_79 critical 0000:ae:00", "gpu-a01 +2 oom_kill error"],
    "kmsg.log": ["gpu-a01 +0 sxid_fatal critical 0000:86:00"],
    "journald.jsonl": ["gpu-a01 +0 xid_48 critical 0000:ae:00"],
    "fabricmanager.log": [
        "gpu-a01 +0 sxid_fatal critical 0000:87:00", "gpu-a01 +1 nvlink error",
    ],
    "gpud-events.json": ["gpu-a01 +0 xid_74 error 0000:ae:00", "gpu-a01 +3 memory warning"],
    "gpud-states.json": ["gpu-a01 +51 nvlink critical GPU-aa55bb66-1234"],
    "sel.txt": [
        "gpu-a01 -4 ecc critical Memory #0x24", "gpu-a01 -3 power error Power Supply PSU2",
        "gpu-a01 +843 fan warning Fan #0x31",
    ],
    "sel.csv": [
        "gpu-a01 -4 thermal critical Processor CPU1",
        "gpu-a01 -3 pcie critical Critical Interrupt",
    ],
    "kubernetes-nodes.jsonl": [
        "gpu-a01 +111 node_not_ready error", "gpu-a01 +21 nvlink error",
        "gpu-a01 +51 cordoned info", f"gpu-a01 +{LATER} gpu_withdrawn error",
    ],
    "kubernetes-events.json": [
        "gpu-a01 -9 evicted error", "gpu-a02 -8 filesystem_readonly critical",
    ],
    "kubernetes-pods.json": [
        "gpu-a01 +29 oom_kill error", "gpu-a02 +51 evicted error", "gpu-a03 +111 killed warning",
    ],
    "nvidia-smi.csv": [
        "gpu-a01 +0 thermal warning GPU 1", "gpu-a01 +0 thermal warning GPU 1",
        "gpu-a01 +0 power error GPU 1", "gpu-a01 +0 ecc warning GPU 1",
        "gpu-a01 +0 gpu critical GPU 2",
    ],
    "nvidia-smi-pages.txt": [
        "gpu-a01 +0 ecc error 0000:04:00", "gpu-a01 +0 ecc warning 0000:05:00",
    ],
    "superbench-diagnosis.jsonl": [f"gpu-a02 +{LATER} benchmark error"],
    "superbench-monitor.jsonl": ["gpu-a01 +0 thermal warning GPU 1", "gpu-a01 +1 ecc info GPU 0"],
    "nvidia-smi-nvlink.txt": [
        f"gpu-a01 +{LATER} nvlink error GPU-11aa22bb-0000-1111-2222-333344445555",
        f"gpu-a01 +{LATER} nvlink error GPU-11aa22bb-0000-1111-2222-333344446666",
    ],
    "slurm-nodes.txt": [
        "gpu-a01 +61 drained warning", f"gpu-a01 +{LATER} node_not_responding error",
        "gpu-a02 +0 node_down error", f"gpu-a03 +{LATER} maintenance info",
    ],
    "slurm-nodes.json": ["gpu-a01 +61 drained warning", "gpu-a02 +0 node_down error"],
    "slurm-jobs.txt": [
        "gpu-a01 +5 job_failed info", "gpu-a01 +60 job_lost_its_node warning",
        "gpu-a02 +60 job_lost_its_node warning", "gpu-a07 +90 oom_kill warning",
    ],
    "slurm-jobs.json": [
        "gpu-a02 +60 job_lost_its_node error", "gpu-a01 +5 job_failed info",
    ],
}  # fmt: skip
LEFT = {
    "superbench-monitor.jsonl": {"superbench_lines_unread": 1},
    "alertmanager.json": {"alerts_without_node": 1, "alerts_cut": 1},
    "dcgm.prom": {"metric_lines_unread": 1},
    "fabricmanager.log": {"fabricmanager_lines_unread": 1},
    "gpud-events.json": {"gpud_times_unread": 1},
    "sel.txt": {"sel_without_time": 1, "sel_lines_unread": 1},
    "kubernetes-nodes.jsonl": {"kubernetes_objects_unread": 1},
    "kubernetes-events.json": {"kubernetes_events_without_node": 1},
    "slurm-nodes.txt": {"slurm_partitions": 1, "slurm_lines_unread": 1},
    "slurm-nodes.json": {"slurm_objects_unread": 1},
    "slurm-jobs.txt": {"slurm_lines_unread": 1},
}


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_tells(name):
    events, left_out = heard(SAMPLES[name], (FOLDER / name).read_bytes())
    assert sorted(map(said, events)) == sorted(TOLD[name])
    assert left_out == LEFT.get(name, {})


def test_there_is_a_sample_of_each_door():
    assert set(SAMPLES.values()) == set(DOORS)
    assert set(SAMPLES) | {"README.md"} == {path.name for path in FOLDER.iterdir()}


@st.composite
def mutated(draw):
    """A sample of some door with a few bytes, lines or values other than they were."""
    name = draw(st.sampled_from(sorted(SAMPLES)))
    body = bytearray((FOLDER / name).read_bytes())
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(0, len(body) - 1)))
        length = draw(st.integers(0, 40))
        body[at : at + length] = draw(st.one_of(st.binary(max_size=12), st.sampled_from(ODD)))
    door = draw(st.sampled_from([SAMPLES[name], *DOORS]))
    return door, bytes(body)


ODD = [
    b"null", b"-1", b"1e999", b"NaN", b"9223372036854775808", b"[]", b"{}", b'""', b"\0", b"\xff",
    b"\n", b"9999-12-31T23:59:59Z", b"0000:00:00", b"|||||", b",,,", b'"' * 9, b"{" * 9, b" " * 99,
]  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(mutated())
def test_whatever_comes_is_taken_or_refused_in_words(sent):
    door, body = sent
    try:
        events, left_out = heard(door, body)
    except BadPayload as refused:
        assert refused.message and refused.where
    else:
        assert all(0 <= event.time_ns <= 2**62 and event.node for event in events)
        assert set(left_out) <= LEFT_OUT


@pytest.mark.parametrize("door", ["gpud", "ipmi", "fabricmanager", "nvidia-smi"])
def test_who_tells_must_be_said_where_the_body_does_not(door):
    with pytest.raises(BadPayload, match="nothing says which node"):
        DOORS[door](b"{}", sender_for("kubernetes"))


PAYLOADS = Path(os.environ.get("LASTGOOD_PAYLOADS") or "/nonexistent")


@pytest.mark.skipif(not PAYLOADS.is_dir(), reason="LASTGOOD_PAYLOADS names no folder")
@pytest.mark.parametrize(
    ("pattern", "door", "kinds"),
    [
        ("alertmanager-*.json", "alertmanager", {"xid_79", "xid_31"}),
        ("dcgm-exporter-*.prom", "metrics", set()),
        ("dmesg-*xid119*", "kernel", {"xid_119"}),
        ("dmesg-*oom*", "kernel", {"xid_13", "xid_43", "oom_kill"}),
        ("kmsg-*nvswitch*", "kernel", set()),
        ("kmsg-*peermem*", "kernel", {"peermem"}),
        ("journald-*", "kernel", {"xid_79"}),
        ("fabricmanager*", "fabricmanager", {"sxid_nonfatal"}),
        ("gpud-events*", "gpud", {"xid_79"}),
        ("gpud-states*", "gpud", {"xid_79"}),
        ("ipmi-sel*", "ipmi", {"ecc", "pcie", "thermal"}),
        ("k8s-events*", "kubernetes", {"oom_kill", "evicted"}),
        ("k8s-node-watch*", "kubernetes", {"xid_79", "cordoned", "gpu_withdrawn"}),
        ("k8s-pod-oom*", "kubernetes", {"oom_kill"}),
        ("nvidia-smi-nvlink-inactive*", "nvidia-smi", {"nvlink"}),
        ("nvidia-smi-nvlink-status*", "nvidia-smi", set()),
        ("nvidia-smi-q-retired*", "nvidia-smi", {"ecc"}),
        ("nvidia-smi-query-gpu*", "nvidia-smi", {"thermal", "ecc", "gpu"}),
        ("superbench-diagnosis*", "superbench", {"benchmark"}),
        ("superbench-monitor*", "superbench", set()),
        ("sacct-invalid*", "slurm", {"job_failed"}),
        ("sacct-parsable2*", "slurm", set()),
        ("scontrol-show-node*", "slurm", {"drained", "node_not_responding"}),
        ("scontrol-show-partition*", "slurm", set()),
        ("slurm-node-down*", "slurm", {"node_down"}),
        ("slurm-node-drain*", "slurm", {"drained"}),
        ("slurm-node-[irw]*", "slurm", set()),
        ("slurm-job-timeout*", "slurm", {"job_failed"}),
        ("slurmdb-job-failed*", "slurm", {"job_failed"}),
    ],
)
def test_payloads_of_others_tell(pattern, door, kinds):
    paths = list(PAYLOADS.glob(pattern))
    assert paths
    for path in paths:
        events, _ = heard(door, path.read_bytes())
        assert {event.kind for event in events} == kinds


@pytest.mark.skipif(not PAYLOADS.is_dir(), reason="LASTGOOD_PAYLOADS names no folder")
@pytest.mark.parametrize("pattern", ["ib_*", "nccl-tests-*"])
def test_link_tests_of_others_are_read(pattern):
    for path in PAYLOADS.glob(pattern):
        assert np.nanmax(linktext.read(path.read_bytes(), ("a", "b")).matrix) > 100


@pytest.mark.skipif(not PAYLOADS.is_dir(), reason="LASTGOOD_PAYLOADS names no folder")
def test_rules_of_a_problem_detector_have_kinds():
    rules = [json.loads(path.read_bytes()) for path in PAYLOADS.glob("npd-*.json")]
    assert {one["type"] for said in rules for one in said["conditions"]} <= set(CONDITIONS)
    assert {one["reason"] for said in rules for one in said["rules"]} <= set(REASONS)
