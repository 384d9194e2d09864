"""Which fault classes of the log triage are the host's, and which come from outside."""

from __future__ import annotations

from collections.abc import Iterable

from apps.core.records import Finding

_OF_THE_HOST = frozenset({
    "argo_node", "cuda_ecc_uncorrectable", "cuda_no_device", "fabric_manager", "fs_readonly",
    "gpu_off_bus_no_xid", "gpu_thermal_throttle", "hang_no_error", "ib_completion_error",
    "ib_port_event", "ofi_efa_error", "pcie_aer", "slurm_node_fail", "stale_nfs", "sxid_fatal",
    "sxid_nonfatal",
})  # fmt: skip
_FROM_OUTSIDE = frozenset({
    "exit_sigkill", "exit_sigterm", "k8s_evicted", "slurm_cancel", "slurm_time_limit",
})  # fmt: skip
_XID = "xid_"
_XID_OF_PROGRAMS = frozenset({"xid_13", "xid_31", "xid_43", "xid_45"})
"""Xids that a faulty program raises as well: illegal accesses and what is cleaned up after them."""


_BLAMES_HOST = frozenset({"host_hardware", "host_software"})
_BLAMES_OUTSIDE = frozenset({"scheduler"})


def own_blame(findings: Iterable[Finding], fault_class: str) -> str:
    """Whom a class that a project added blames; "" for a built-in one."""
    return next(
        (
            str(finding.facts.get("blame", ""))
            for finding in findings
            if finding.facts.get("of_project") and finding.facts.get("fault_class") == fault_class
        ),
        "",
    )


def of_host(fault_class: str, blame: str = "") -> bool:
    """Whether another host would have been spared. A hang counts: what hangs alone is replaced.

    blame: own_blame(); a class of a project is the host's if it says so.
    """
    if blame:
        return blame in _BLAMES_HOST
    xid = fault_class.startswith(_XID) and fault_class not in _XID_OF_PROGRAMS
    return xid or fault_class in _OF_THE_HOST


def from_outside(fault_class: str, blame: str = "") -> bool:
    """Whether somebody or something ended a healthy job. blame: own_blame()."""
    return fault_class in _FROM_OUTSIDE or blame in _BLAMES_OUTSIDE
