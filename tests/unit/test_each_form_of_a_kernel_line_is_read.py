"""apps.ingest.kernel, apps.nodes.domain.kernel"""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.errors import BadPayload
from apps.ingest.kernel.parse import MAX_LINES, parse
from apps.ingest.nodes.parse import MAX_EVENTS, Sender
from apps.nodes.domain.kernel import fault_of
from apps.nodes.domain.merging import merge
from apps.nodes.domain.xids import SXIDS, XIDS

NS = 10**9
AT_NS = 1_796_004_669 * NS
"""2026-11-30 02:11:09 UTC"""
BOOT_NS = AT_NS - 1_000 * NS
XID = "NVRM: Xid (PCI:0000:ae:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
HERE = Sender("gpu-a01", AT_NS, BOOT_NS)


def journal(message, **fields):
    entry = {"__REALTIME_TIMESTAMP": str(AT_NS // 1_000), "_HOSTNAME": "gpu-a01"} | fields
    return json.dumps(entry | {"_TRANSPORT": "kernel", "MESSAGE": message} | fields)


def heard(text, sender=HERE):
    return parse(text.encode(), sender)


FORMS = {
    f"6,3973,1000000000,-;{XID}": "kmsg",
    f"4,3973,1000000000,-,caller=T12;{XID}\n SUBSYSTEM=pci\n DEVICE=+pci:0000:ae:00.0": "kmsg",
    f"[ 1000.000000] {XID}": "dmesg",
    f"<4>[ 1000.000000] {XID}": "dmesg",
    f"[Mon Nov 30 02:11:09 2026] {XID}": "dmesg",
    f"kern  :warn  : [Mon Nov 30 02:11:09 2026] {XID}": "dmesg",
    f"kern  :warn  : 2026-11-30T02:11:09,000000+00:00 {XID}": "dmesg",
    f"2026-11-30T03:11:09.000000+01:00 gpu-a01 kernel: [ 1000.000000] {XID}": "syslog",
    f"Nov 30 02:11:09 gpu-a01 kernel: [ 1000.000000] {XID}": "syslog",
    f"[Nov30 02:11] eth0: up\n[  +8.500000] eth0: up\n[  +0.500000] {XID}": "dmesg",
    journal(XID): "journald",
    journal([*XID.encode(), 255]): "journald",
}


@pytest.mark.parametrize("text", FORMS)
def test_every_form_gives_the_same_event(text):
    batch = heard(text)
    (event,) = batch.events
    assert (event.node, event.time_ns, event.kind) == ("gpu-a01", AT_NS, "xid_79")
    assert (event.severity, event.device) == ("critical", "0000:ae:00")
    assert event.source == f"kernel ({FORMS[text]})"
    assert event.raw.startswith(XID)
    assert not batch.left_out["kernel_lines_unread"]


def test_a_time_without_a_zone_is_in_that_of_the_sender():
    text = f"[Mon Nov 30 04:11:09 2026] {XID}"
    assert heard(text, Sender("n", AT_NS, offset_s=7_200)).events[0].time_ns == AT_NS


def test_a_time_without_a_year_is_never_in_the_future():
    (event,) = heard(f"Dec 24 02:11:09 gpu-a01 kernel: {XID}").events
    assert 330 < (AT_NS - event.time_ns) / NS / 86_400 < 365


def test_lines_that_go_on_are_read_with_their_first():
    text = (
        "[ 1000.000000] NVRM: The NVIDIA GPU 0000:b3:00.0\n   NVRM: (PCI ID: 10de:2330) is there\n"
        "   NVRM: has fallen off the bus and does not respond.\n[ 1000.100000] eth0: up"
    )
    (event,) = heard(text).events
    assert (event.kind, event.device) == ("gpu_off_bus", "0000:b3:00")


def test_the_node_is_what_the_sender_says_or_else_the_line():
    text = f"2026-11-30T02:11:09Z gpu-b02 kernel: {XID}"
    assert heard(text).events[0].node == "gpu-a01"
    assert heard(text, Sender("", AT_NS)).events[0].node == "gpu-b02"


@pytest.mark.parametrize(
    ("text", "sender", "where"),
    [
        (f"\n[Mon Nov 30 02:11:09 2026] {XID}", Sender("", AT_NS), "line 2"),
        (f"[ 1000.000000] {XID}", Sender("n", AT_NS), "boot_s"),
        ("\n" * MAX_LINES, HERE, "body"),
        (f"[ 1000.000000] {XID}\n" * (MAX_EVENTS + 1), HERE, "body"),
    ],
    ids=["no node", "no boot", "lines", "events"],
)
def test_what_cannot_be_taken_is_said(text, sender, where):
    with pytest.raises(BadPayload) as refused:
        heard(text, sender)
    assert refused.value.where == where


def test_lines_without_a_time_are_counted():
    batch = heard(f"{XID}\n\n{{odd\n[Mon Feb 30 02:11:09 2026] {XID}")
    assert (batch.events, batch.left_out) == ((), {"kernel_lines_unread": 3})


@pytest.mark.parametrize(
    ("text", "kind", "severity", "device"),
    [
        ("nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 20034, Fatal, Link 30 LTSSM Fault Up",
         "sxid_fatal", "critical", "0000:05:00"),
        ("nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Non-fatal, Link 32 egress",
         "sxid_nonfatal", "warning", "0000:05:00"),
        ("nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 22013, Non-fatal, Link 60 Minion Link DLREQ",
         "sxid_nonfatal", "info", "0000:05:00"),
        ("nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 22013, Fatal, Link 60 Minion Link DLREQ",
         "sxid_fatal", "critical", "0000:05:00"),
        ("NVRM: Xid (PCI:0000:38:00): 43, pid=7, name=python, Ch 8", "xid_43", "warning",
         "0000:38:00"),
        ("NVRM: Xid (PCI:0000:38:00): 999, new", "xid_999", "error", "0000:38:00"),
        ("Out of memory: Killed process 123 (python) total-vm:9kB", "oom_kill", "error", None),
        ("Memory cgroup out of memory: Killed process 7 (python)", "oom_kill", "error", None),
        ("mce: [Hardware Error]: Machine check events logged", "mce", "warning", None),
        ("EDAC MC0: 1 CE memory read error on CPU", "ecc", "warning", "MC0"),
        ("EDAC MC1: 1 UE memory read error on CPU", "ecc", "critical", "MC1"),
        ("pcieport 0000:5d:00.0: PCIe Bus Error: severity=Uncorrectable (Fatal), type=Transaction",
         "pcie", "error", "0000:5d:00"),
        ("mlx5_core 0000:5e:00.0 ens3f0np0: Link down", "network", "error", "ens3f0np0"),
        ("CPU12: Package temperature is above threshold, cpu clock is throttled", "thermal",
         "warning", None),
        ("blk_update_request: I/O error, dev nvme0n1, sector 7", "disk", "error", "nvme0n1"),
        ("EXT4-fs (sda1): Remounting filesystem read-only", "filesystem_readonly", "critical",
         "(sda1)"),
        ("INFO: task python:123 blocked for more than 120 seconds.", "hung_task", "error", None),
        ("watchdog: BUG: soft lockup - CPU#7 stuck for 22s!", "lockup", "critical", None),
        ("Kernel panic - not syncing: Fatal exception", "panic", "critical", None),
        ("nfs: server store1 not responding, timed out", "nfs", "error", "store1"),
    ],
)  # fmt: skip
def test_what_a_message_means(text, kind, severity, device):
    fault = fault_of(text)
    assert (fault.kind, fault.severity, fault.device) == (kind, severity, device)
    assert fault.message


@pytest.mark.parametrize(
    "text", ["eth0: link becomes ready", "oom_reaper: reaped process 7", "nvidia-nvswitch2: open"]
)
def test_nearly_all_lines_mean_nothing(text):
    assert fault_of(text) is None


def test_a_gpu_that_falls_off_the_bus_is_one_event():
    """The driver says it with its number and again in words."""
    words = "NVRM: GPU 0000:ae:00.0: GPU has fallen off the bus."
    told = heard(f"[ 1000.000000] {XID}\n[ 1000.000003] {words}").events
    (event,) = merge(told)
    assert (len(told), event.kind, event.device) == (2, "xid_79", "0000:ae:00")


def test_the_driver_says_which_recovery_it_asks_for():
    text = (
        "NVRM: Xid (PCI:0000:ae:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 "
        "(Node Reboot Required)"
    )
    assert fault_of(text).message == "Xid 154: the driver asks for: Node Reboot Required"


@pytest.mark.parametrize(
    ("number", "severity", "action"),
    [
        (94, "error", "start the job again"),
        (63, "warning", "nothing now"),
        (64, "critical", "reset the GPU"),
        (44, "warning", "nothing now"),
        (109, "error", "reset the GPU"),
        (157, "warning", "nothing now"),
        (41, "error", "start the job again"),
        (106, "info", ""),
    ],
)
def test_what_helps_at_once_is_what_the_vendors_catalog_says(number, severity, action):
    assert XIDS[number].severity == severity
    assert action in XIDS[number].action


@pytest.mark.parametrize(
    ("number", "meaning", "action"),
    [
        (12020, "out of order", "reboot"),  # EGRESS_SEQIDERR, always fatal
        (14017, "waited in vain", "reset both"),  # TSTATE_ATO_ERR, a timeout
        (22003, "controller of the links halted", "reboot"),  # MINION_HALT, always fatal
    ],
)
def test_errors_of_switches_mean_what_the_driver_calls_them(number, meaning, action):
    assert meaning in SXIDS[number][0]
    assert action in SXIDS[number][2]


def test_every_number_says_what_to_do():
    assert {code.severity for code in XIDS.values()} <= {"info", "warning", "error", "critical"}
    assert all(code.meaning and code.action for code in XIDS.values())
    assert max(len(f"Xid {number}: {code.words()}") for number, code in XIDS.items()) <= 120
    assert all(all(words) for words in SXIDS.values())


parts = st.sampled_from(
    ["[", "]", "{", "}", "NVRM: Xid (PCI:0000:ae:00): ", "SXid (PCI:0000:05:00.0): ", "79", ", ",
     "9" * 30, "\0", "\n", "6,1,2,-;", "[ 1.000000] ", "Nov 30 02:11:09 ", "kernel: ", "²",
     '{"__REALTIME_TIMESTAMP":"', '"', "1790000000000000", ':', '"MESSAGE":', "2026-11-30T",
     "02:11:09", "+99:99", " ", "Fatal", "[Mon Nov 30 02:11:09 2026] ", "[Nov30 02:11] ", "[ +1."]
) | st.text(max_size=5)  # fmt: skip


@given(
    st.lists(parts, max_size=40).map("".join) | st.binary(max_size=80), st.sampled_from(["", "n"])
)
def test_any_body_is_read_or_refused_in_words(body, node):
    try:
        batch = parse(
            body.encode() if isinstance(body, str) else body, Sender(node, AT_NS, BOOT_NS)
        )
    except BadPayload as refused:
        assert refused.message
        assert refused.where
    else:
        assert all(event.node and 0 <= event.time_ns <= 2**62 for event in batch.events)


@given(st.lists(st.sampled_from(sorted(FORMS)) | st.text(max_size=20), max_size=8), st.data())
def test_a_damaged_line_is_read_or_refused_in_words(lines, data):
    text = "\n".join(lines)
    at = data.draw(st.integers(0, len(text)))
    odd = data.draw(parts)
    try:
        heard(text[:at] + odd + text[at + 1 :])
    except BadPayload as refused:
        assert refused.where
