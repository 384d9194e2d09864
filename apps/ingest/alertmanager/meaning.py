"""What the labels of an alert mean: which node, device, kind and severity. Plain Python.

Defaults for the alerts that come with node-exporter's mixin, dcgm-exporter and kubernetes-mixin. A
rule may set the labels `lastgood_node` and `lastgood_kind`, which win over everything here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

Labels = Mapping[str, str]

NODE_LABELS: Final = (
    "lastgood_node", "node", "Hostname", "nodename", "node_name", "kubernetes_node", "hostname",
    "host", "exported_node", "exported_instance",
)  # fmt: skip
"""Where the machine stands, best first. `instance` comes after them: it may be an exporter's."""

_ABOUT_OTHERS: Final = re.compile(
    r".*(kube-state-metrics|blackbox|pushgateway).*|alertmanager.*|prometheus(-k8s|-server|-operator)?"
)
"""Jobs whose `instance` is not what the alert is about."""
_PORT: Final = re.compile(r":\d{1,5}$")

DEVICE_LABELS: Final = (
    ("pci_bus_id", ""), ("UUID", ""), ("uuid", ""), ("gpu", "GPU "), ("minor_number", "GPU "),
    ("device", ""), ("nvswitch", "NVSwitch "), ("chip", ""), ("mountpoint", ""),
)  # fmt: skip
"""Label -> how its value is introduced; the first that is there."""

_XID_LABELS: Final = ("xid", "XID", "err_code")
_XID: Final = re.compile(r"0*([1-9]\d{0,3})")

KINDS: Final = tuple(
    (re.compile(rf"\b({words})"), kind)
    for words, kind in (
        (r"xid", "xid"),
        (r"oom kill", "oom_kill"),
        (r"node not ready|node unreachable|node readiness|kubelet down", "node_not_ready"),
        (r"(node|host|instance|target|exporter) (is )?(down|missing|unreach)", "node_down"),
        (r"node pressure|node eviction|evict|disk pressure|memory pressure", "node_pressure"),
        (r"throttl|therm|temperature|overheat", "thermal"),
        (r"ecc\b|dbe\b|sbe\b|edac|row ?remap|retired|retirement|double bit|single bit", "ecc"),
        (r"nv ?link|nv ?switch", "nvlink"),
        (r"infini ?band|rdma|ro ?ce\b|ib\b", "infiniband"),
        (r"pcie?\b", "pcie"),
        (r"power|psu\b|voltage", "power"),
        (r"read ?only", "filesystem_readonly"),
        (r"filesystem|file system|disk space|out of (disk|space|files)|inode", "disk_full"),
        (r"raid\b|disk|smart\b|nvme", "disk"),
        (r"network|bond|nic\b|interface|conntrack", "network"),
        (r"clock|ntp\b|chrony|time sync", "clock"),
        (r"memory|out of memory|swap", "memory"),
        (r"systemd|service", "service"),
        (r"cpu|load\b|saturation", "load"),
        (r"gpu|dcgm", "gpu"),
    )
)
"""Name of an alert, in words -> kind; the first that matches. Any other is of kind `alert`."""
_SEAM: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[\W_]+")
_MAX_NAME: Final = 200

SEVERITIES: Final = {
    **dict.fromkeys(("critical", "page", "fatal", "emergency", "disaster", "p1", "1"), "critical"),
    **dict.fromkeys(("error", "high", "major", "p2", "2"), "error"),
    **dict.fromkeys(("info", "information", "informational", "none", "low", "notice"), "info"),
}
"""Label `severity` -> ours; any other is a warning."""


def node_of(labels: Labels) -> str:
    """The machine an alert is about, "" if its labels name none."""
    for name in NODE_LABELS:
        if value := labels.get(name, "").strip():
            return _PORT.sub("", value)[:253] if name == "exported_instance" else value[:253]
    if _ABOUT_OTHERS.fullmatch(labels.get("job", "")):
        return ""
    return _PORT.sub("", labels.get("instance", "").strip()).strip("[]")[:253]


def device_of(labels: Labels) -> str | None:
    """The part of the machine, None if its labels name none."""
    for name, introduced in DEVICE_LABELS:
        if value := labels.get(name, "").strip():
            return f"{introduced}{value}"
    return None


def kind_named(name: str, otherwise: str) -> str:
    """What a name in camel case or with dashes speaks of."""
    words = _SEAM.sub(" ", name[:_MAX_NAME]).lower()
    return next((kind for known, kind in KINDS if known.search(words)), otherwise)


def kind_of(labels: Labels) -> str:
    """What happened: `xid_79` for an Xid whose number a label tells."""
    if said := labels.get("lastgood_kind", "").strip():
        return said
    kind = kind_named(labels.get("alertname", ""), "alert")
    numbers = (_XID.fullmatch(labels.get(name, "").strip()) for name in _XID_LABELS)
    number = next((found[1] for found in numbers if found), None)
    named = kind == "xid" or "xid" in labels or "XID" in labels
    return f"xid_{number}" if number and named else kind


def severity_of(labels: Labels, otherwise: str) -> str:
    """info, warning, error or critical; `otherwise` where no label tells one."""
    said = labels.get("severity", "").strip().lower()
    return SEVERITIES.get(said, "warning") if said else otherwise
