"""Which metrics of dcgm-exporter and node-exporter tell of a fault, and from where on.

Plain Python.

Thresholds: GPUs of data centres slow down by themselves between 87 and 92 degrees, their memory
from about 100 (NVIDIA's product briefs name the numbers of each board). The rest counts what must
not happen at all. A filesystem that is mounted read-only is no fault, one that turns so is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from apps.ingest.alertmanager.meaning import device_of
from apps.nodes.domain.conditions import Mode, Reading
from apps.nodes.domain.xids import xid

Labels = Mapping[str, str]
MAX_NS: Final = 2**62
DCGM, NODE, UP = "dcgm-exporter", "node-exporter", "prometheus"
BLANK_FROM: Final = 2_147_483_632.0
"""DCGM writes "not supported" as a number near the largest of its type, 2**31 - 16 and up."""


@dataclass(frozen=True, slots=True)
class Watched:
    """One metric. bad: level by value. near: not yet well again. device: of the labels."""

    source: str
    kind: str
    words: str
    level: str = "error"
    mode: Mode = Mode.STATE
    bad: Callable[[float], bool] = bool
    near: Callable[[float], bool] = lambda value: False
    least: float = 0.0
    device: Callable[[Labels], str | None] = lambda labels: None
    skip: Callable[[Labels], bool] = lambda labels: False


def _over(limit: float) -> Callable[[float], bool]:
    return lambda value: value >= limit


def _bits(mask: int) -> Callable[[float], bool]:
    return lambda value: 0 <= value < BLANK_FROM and bool(int(value) & mask)


def _label(*names: str) -> Callable[[Labels], str | None]:
    return lambda labels: " ".join(labels[n] for n in names if labels.get(n)) or None


def _port(labels: Labels) -> str | None:
    device = labels.get("device", "")
    return f"{device} port {labels['port']}" if device and labels.get("port") else device or None


_UNREAL_FS: Final = frozenset({
    "tmpfs", "ramfs", "squashfs", "iso9660", "overlay", "erofs", "cdfs", "devtmpfs", "proc",
    "sysfs", "autofs", "fuse.lxcfs", "nsfs",
})  # fmt: skip
_UNREAL_NIC: Final = (
    "lo", "veth", "docker", "br-", "cali", "cni", "flannel", "cilium", "lxc", "tunl", "virbr",
    "vxlan", "ovs", "kube", "dummy", "tap", "nodelocaldns", "ifb", "wg",
)  # fmt: skip


def unreal_filesystem(labels: Labels) -> bool:
    """Filesystems that are full or read-only by design."""
    return labels.get("fstype", "") in _UNREAL_FS


def _unreal_nic(labels: Labels) -> bool:
    return labels.get("device", "").startswith(_UNREAL_NIC)


def _gpu(kind: str, words: str, level: str = "error", **more: object) -> Watched:
    return Watched(DCGM, kind, words, level, device=device_of, **more)  # type: ignore[arg-type]


_THERMAL, _POWER = _bits(0x20 | 0x40), _bits(0x08 | 0x80)
_HOT = "the GPU slows itself down: it is too hot"
_WEAK = "the GPU slows itself down: hardware slowdown or power brake"
_COUNT: Final = Mode.COUNT

WATCHED: Final[Mapping[str, tuple[Watched, ...]]] = {
    "DCGM_FI_DEV_GPU_TEMP": (
        _gpu("thermal", "the GPU has 88 degrees or more", "warning", bad=_over(88), near=_over(84)),
    ),
    "DCGM_FI_DEV_MEMORY_TEMP": (
        _gpu("thermal", "memory of the GPU has 100 degrees or more", "warning", bad=_over(100),
             near=_over(95)),
    ),
    "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS": (
        _gpu("thermal", _HOT, "warning", bad=_THERMAL), _gpu("power", _WEAK, bad=_POWER),
    ),
    "DCGM_FI_DEV_CLOCKS_EVENT_REASONS": (
        _gpu("thermal", _HOT, "warning", bad=_THERMAL), _gpu("power", _WEAK, bad=_POWER),
    ),
    "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL": (
        _gpu("ecc", "memory errors of two bits, not corrected", "critical", mode=_COUNT),
    ),
    "DCGM_FI_DEV_ECC_DBE_AGG_TOTAL": (
        _gpu("ecc", "memory errors of two bits, not corrected", "critical", mode=_COUNT),
    ),
    "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS": (
        _gpu("ecc", "rows of memory remapped after errors that were not corrected", mode=_COUNT),
    ),
    "DCGM_FI_DEV_ROW_REMAP_FAILURE": (
        _gpu("ecc", "a row of memory could not be remapped: replace the GPU", "critical"),
    ),
    "DCGM_FI_DEV_ROW_REMAP_PENDING": (
        _gpu("ecc", "a row of memory waits to be remapped: reset the GPU", "warning"),
    ),
    "DCGM_FI_DEV_RETIRED_DBE": (
        _gpu("ecc", "pages of memory retired after errors of two bits", mode=_COUNT),
    ),
    "DCGM_FI_DEV_RETIRED_PENDING": (
        _gpu("ecc", "pages of memory wait to be retired: reset the GPU", "warning"),
    ),
    "DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL": (
        _gpu("nvlink", "NVLink recovery errors", mode=_COUNT),
    ),
    "DCGM_FI_DEV_PCIE_REPLAY_COUNTER": (
        _gpu("pcie", "packets sent again over PCIe", "warning", mode=_COUNT, least=100),
    ),
    "node_filesystem_readonly": (
        Watched(NODE, "filesystem_readonly", "turn of the filesystem to read-only", mode=_COUNT,
                device=_label("mountpoint"), skip=unreal_filesystem),
    ),
    "node_vmstat_oom_kill": (
        Watched(NODE, "oom_kill", "processes killed: out of memory", mode=_COUNT),
    ),
    "node_edac_uncorrectable_errors_total": (
        Watched(NODE, "ecc", "memory errors that were not corrected", "critical", _COUNT,
                device=_label("controller")),
    ),
    "node_edac_correctable_errors_total": (
        Watched(NODE, "ecc", "memory errors, corrected", "warning", _COUNT, least=100,
                device=_label("controller")),
    ),
    "node_infiniband_link_downed_total": (
        Watched(NODE, "infiniband", "times that the link went down", mode=_COUNT, device=_port),
    ),
    "node_infiniband_link_error_recovery_total": (
        Watched(NODE, "infiniband", "times that the link recovered from an error", "warning",
                _COUNT, device=_port),
    ),
    "node_network_carrier_down_changes_total": (
        Watched(NODE, "network", "times that the link went down", "warning", _COUNT,
                device=_label("device"), skip=_unreal_nic),
    ),
    "node_cpu_core_throttles_total": (
        Watched(NODE, "thermal", "times that a CPU core slowed itself down", "warning", _COUNT,
                least=1_000, device=_label("package", "core")),
    ),
    "node_timex_sync_status": (
        Watched(NODE, "clock", "the clock is not synchronised", "warning",
                bad=lambda value: value == 0),
    ),
    "node_boot_time_seconds": (
        Watched(NODE, "reboot", "the machine started again", "warning", Mode.MARK, least=60),
    ),
}  # fmt: skip
"""Metric -> what it tells; all but pairs, Xids and `up`, which the parser puts together."""

INSTEAD: Final = {
    "DCGM_FI_DEV_ECC_DBE_AGG_TOTAL": "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL",
    "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS": "DCGM_FI_DEV_CLOCKS_EVENT_REASONS",
    "DCGM_FI_DEV_XID_ERRORS": "DCGM_EXP_XID_ERRORS_COUNT",
}
"""Metrics that are not read for a device which has the other one: both tell the same."""


def reading(name: str, watched: Watched, labels: Labels, value: float) -> Reading:
    """One sample of a metric that is in the table. When a machine started its mark says itself."""
    device = watched.device(labels)
    number = watched.mode is not Mode.STATE
    started = watched.mode is Mode.MARK and 0 < value * 1e9 <= MAX_NS
    return Reading(
        name=f"{name} {watched.kind} {device}" if device else f"{name} {watched.kind}",
        kind=watched.kind,
        level=watched.level if number or watched.bad(value) else "",
        message=watched.words,
        device=device,
        mode=watched.mode,
        value=value if number else 0.0,
        near=not number and watched.near(value),
        least=watched.least,
        time_ns=int(value * 1e9) if started else None,
        raw=f"{name} {value:g}" if number else "",
    )


def last_xid(labels: Labels, value: float) -> Reading:
    """The gauge of the last Xid keeps its number for ever: only a new one is news."""
    number, device = int(value), device_of(labels)
    code = xid(number)
    words = f"Xid {number}: {code.words()}"
    return Reading(f"xid {device or ''}".strip(), f"xid_{number}", code.severity, words, device,
                   Mode.LATEST, float(number))  # fmt: skip


def counted_xid(labels: Labels, value: float) -> Reading | None:
    """The gauge that counts Xids of each number within some minutes."""
    text, device = labels.get("xid", ""), device_of(labels)
    if not (text.isascii() and text.isdigit() and 0 < len(text) < 6 and int(text)):
        return None
    number = int(text)
    code = xid(number)
    words = f"Xid {number}: {code.words()}"
    return Reading(f"xid {number} {device or ''}".strip(), f"xid_{number}",
                   code.severity if value > 0 else "", words, device)  # fmt: skip


def filling(mountpoint: str, free_ratio: float) -> Reading:
    """A filesystem with less than 3 % free; over again from 5 % on."""
    return Reading(f"filesystem {mountpoint}", "disk_full", "error" if free_ratio < 0.03 else "",
                   "less than 3 % of the filesystem is free", mountpoint,
                   near=free_ratio < 0.05)  # fmt: skip


def memory(free_ratio: float) -> Reading:
    """Main memory with less than 2 % available; over again from 4 % on."""
    return Reading("memory", "memory", "warning" if free_ratio < 0.02 else "",
                   "less than 2 % of the memory is available", near=free_ratio < 0.04)  # fmt: skip


def reached(job: str, value: float) -> Reading:
    """What Prometheus says of its last try to reach an exporter."""
    gpu = "dcgm" in job.lower()
    kind = "exporter_down" if gpu else "node_down"
    words = f"Prometheus does not reach {job or 'the exporter'}"
    return Reading(f"up {job}", kind, "" if value else "warning", words)
