"""What conditions, taints and events of Kubernetes mean for a machine. Plain Python.

Conditions of the kubelet, of node-problem-detector and of the checks that GPU operators bring; of
names that are not in a table the words count.
"""

from __future__ import annotations

import re
from typing import Final

from apps.ingest.alertmanager.meaning import kind_named
from apps.nodes.domain.kernel import Fault, fault_of
from apps.nodes.domain.xids import xid

CONDITIONS: Final = {
    "Ready": ("node_not_ready", "error"),
    "MemoryPressure": ("node_pressure", "warning"),
    "DiskPressure": ("node_pressure", "warning"),
    "PIDPressure": ("node_pressure", "warning"),
    "NetworkUnavailable": ("network", "error"),
    "KernelDeadlock": ("lockup", "critical"),
    "ReadonlyFilesystem": ("filesystem_readonly", "critical"),
    "XfsShutdown": ("filesystem", "critical"),
    "CperHardwareErrorFatal": ("mce", "critical"),
    "FrequentKubeletRestart": ("service", "warning"),
    "FrequentDockerRestart": ("service", "warning"),
    "FrequentContainerdRestart": ("service", "warning"),
    "FrequentUnregisterNetDevice": ("network", "warning"),
    "CorruptDockerOverlay2": ("filesystem", "error"),
    "ContainerRuntimeUnhealthy": ("service", "error"),
    "KubeletUnhealthy": ("service", "error"),
}
"""Type of a node's condition -> kind, severity while it is bad."""
_GOOD_WHEN_TRUE = re.compile(r"(Ready|Available|Healthy|Valid|Validated|Succeeded|Synced|Voter)$")
_XID = re.compile(r"xid[\s_:=-]{0,3}(\d{1,4})\b", re.IGNORECASE)

REASONS: Final = {
    "OOMKilling": ("oom_kill", "error"),
    "SystemOOM": ("oom_kill", "error"),
    "OOMKilled": ("oom_kill", "error"),
    "Evicted": ("evicted", "error"),
    "Evicting": ("evicted", "warning"),
    "EvictionThresholdMet": ("node_pressure", "warning"),
    "Preempted": ("preempted", "warning"),
    "Preempting": ("preempted", "warning"),
    "TaintManagerEviction": ("evicted", "warning"),
    "NodeNotReady": ("node_not_ready", "error"),
    "Rebooted": ("reboot", "warning"),
    "TaskHung": ("hung_task", "error"),
    "DockerHung": ("hung_task", "error"),
    "UnregisterNetDevice": ("network", "warning"),
    "KernelOops": ("panic", "error"),
    "Ext4Error": ("filesystem", "error"),
    "Ext4Warning": ("filesystem", "warning"),
    "IOError": ("disk", "error"),
    "XfsHasShutdown": ("filesystem", "critical"),
    "MemoryReadError": ("ecc", "warning"),
    "CperHardwareErrorCorrected": ("mce", "info"),
    "CperHardwareErrorRecoverable": ("mce", "error"),
    "CperHardwareErrorFatal": ("mce", "critical"),
    "FilesystemIsReadOnly": ("filesystem_readonly", "critical"),
    "UnexpectedAdmissionError": ("gpu", "error"),
    "FailedMount": ("storage", "error"),
    "FailedAttachVolume": ("storage", "error"),
    "FailedCreatePodSandBox": ("service", "warning"),
    "NodeHasDiskPressure": ("node_pressure", "warning"),
    "NodeHasInsufficientMemory": ("node_pressure", "warning"),
    "FreeDiskSpaceFailed": ("disk_full", "warning"),
    "ContainerGCFailed": ("service", "warning"),
    "InvalidDiskCapacity": ("disk", "warning"),
    "BackOff": ("pod_restarts", "warning"),
    "Unhealthy": ("pod_unhealthy", "info"),
    "FailedScheduling": ("pod_pending", "info"),
}
"""Reason of an event -> kind, severity."""
_HARD: Final = frozenset({"ecc", "nvlink", "infiniband", "pcie", "gpu", "disk", "power", "thermal"})


def is_bad(kind: str, status: str) -> bool | None:
    """Whether a status of a condition is bad; None: nobody knows, and it is not the kubelet that
    says nothing."""
    if kind == "Ready":
        return status != "True"
    if status not in ("True", "False"):
        return None
    return (status == "False") if _GOOD_WHEN_TRUE.search(kind) else (status == "True")


def condition(name: str, reason: str, message: str) -> Fault:
    """What a bad condition means: what the kernel said if it repeats that, else its name."""
    kind, severity = CONDITIONS.get(name, ("", ""))
    return _fault(name, reason, message, (kind, severity))


def event(reason: str, message: str, *, warning: bool) -> Fault:
    """What an event means."""
    known = REASONS.get(reason)
    return _fault(reason, reason, message, known or ("", "" if warning else "info"))


def _fault(name: str, reason: str, message: str, known: tuple[str, str]) -> Fault:
    text = " ".join(message.split())
    words = f"{reason}: {text}".strip(": ") or name
    kind, severity = known
    if (said := fault_of(text)) and said.kind != "oom_kill":
        return said
    if kind:
        return Fault(kind, severity, words)
    if found := _XID.search(reason) or _XID.search(text):
        code = xid(int(found[1]))
        return Fault(f"xid_{int(found[1])}", code.severity, f"Xid {found[1]}: {code.words()}")
    kind = kind_named(name, "kubernetes")
    return Fault(kind, severity or ("error" if kind in _HARD else "warning"), words)


def taint_level(key: str) -> str:
    """How loud a taint is: a warning where its name speaks of a fault; "" for those that repeat a
    condition or only say what a node is for."""
    own = key.startswith(("node.kubernetes.io/", "node-role.kubernetes.io/"))
    if own or key in ("nvidia.com/gpu", "amd.com/gpu"):
        return ""
    return "warning" if kind_named(key, "") else "info"
