"""What a message of the kernel means for the machine. Plain Python; every pattern is bounded."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from apps.nodes.domain.xids import sxid, xid

_PCI = r"[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-9a-fA-F])?"
_MAX_NUMBER_DIGITS = 6
RECOVERY_XID: Final = 154
_RECOVERY = re.compile(r" to 0x[0-9a-fA-F]{1,8} \((?P<what>[A-Za-z0-9 ]{1,40})\)")


@dataclass(frozen=True, slots=True)
class Fault:
    """What happened, as in NodeEvent."""

    kind: str
    severity: str
    message: str
    device: str | None = None


Reader = Callable[[re.Match[str]], Fault]


def pci(bus_id: str) -> str:
    """A PCI bus id as one text: 00000000:AE:00.0 and 0000:ae:00 are the same GPU."""
    domain, _, rest = bus_id.lower().partition(":")
    return f"{domain[-4:]}:{rest.partition('.')[0]}"


def _xid(found: re.Match[str]) -> Fault:
    number = int(found["number"])
    code = xid(number)
    words = f"Xid {number}: {code.words()}"
    asked = _RECOVERY.search(found.string, found.end()) if number == RECOVERY_XID else None
    if asked is not None:
        words = f"Xid {number}: the driver asks for: {asked['what']}"
    return Fault(f"xid_{number}", code.severity, words, pci(found["device"]))


def _sxid(found: re.Match[str]) -> Fault:
    number, fatal = int(found["number"]), found["fatal"].lower() == "fatal"
    code = sxid(number, fatal=fatal)
    kind = "sxid_fatal" if fatal else "sxid_nonfatal"
    return Fault(kind, code.severity, f"SXid {number}: {code.words()}", pci(found["device"]))


def _as(kind: str, severity: str, words: str = "") -> Reader:
    def read(found: re.Match[str]) -> Fault:
        device = found.groupdict().get("device")
        known = pci(device) if device and re.fullmatch(_PCI, device) else device
        return Fault(kind, severity, words or found[0], known)

    return read


_RULES: Final = tuple(
    (literal, re.compile(pattern), read)
    for literal, pattern, read in (
        ("SXid", rf"SXid \(PCI:(?P<device>{_PCI})\): (?P<number>\d{{1,{_MAX_NUMBER_DIGITS}}}), "
         r"(?P<fatal>[Ff]atal|[Nn]on-fatal)", _sxid),
        ("Xid", rf"NVRM: (?:GPU at [^:]{{1,40}}: )?Xid \((?:PCI:)?(?P<device>{_PCI})\): "
         rf"(?P<number>\d{{1,{_MAX_NUMBER_DIGITS}}})\b", _xid),
        ("fallen off the bus", rf"NVRM:.{{0,80}}?(?P<device>{_PCI}).{{0,300}}?fallen off the bus",
         _as("gpu_off_bus", "critical", "the GPU has fallen off the bus (no Xid)")),
        ("fallen off the bus", r"NVRM:.{0,300}?fallen off the bus",
         _as("gpu_off_bus", "critical", "a GPU has fallen off the bus (no Xid)")),
        ("nvidia-peermem", r"nvidia-peermem .{0,80}detected invalid context",
         _as("peermem", "warning", "GPU memory went away under a network transfer: a program "
             "ended, look for what came before it")),
        ("ut of memory", r"[Oo]ut of memory: Kill(?:ed)? process \d{1,10}(?:,? .{0,200})?",
         _as("oom_kill", "error")),
        ("Hardware Error", r"\[Hardware Error\].{0,20}(?:[Uu]ncorrected|[Ff]atal|event severity: "
         r"fatal).{0,150}", _as("mce", "critical")),
        ("Machine check events", r"Machine check events logged", _as("mce", "warning")),
        ("EDAC", r"EDAC (?P<device>\S{1,20}): \d{1,9} UE .{0,200}", _as("ecc", "critical")),
        ("EDAC", r"EDAC (?P<device>\S{1,20}): \d{1,9} CE .{0,200}", _as("ecc", "warning")),
        ("temperature", r"CPU\d{1,5}: (?:Core|Package) temperature (?:is )?above threshold.{0,80}",
         _as("thermal", "warning")),
        ("PCIe Bus Error", rf"(?P<device>{_PCI}): PCIe Bus Error: severity=Uncorrect.{{0,150}}",
         _as("pcie", "error")),
        ("PCIe Bus Error", rf"(?P<device>{_PCI}): PCIe Bus Error: severity=Corrected.{{0,150}}",
         _as("pcie", "warning")),
        ("ink", r"mlx5_core \S{1,20}(?: (?P<device>\w{1,20}))?: (?:Port: \d{1,3} )?[Ll]ink "
         r"(?:down|DOWN)", _as("network", "error")),
        ("NIC Link is Down", r"(?P<device>[\w.-]{1,20}): NIC Link is Down",
         _as("network", "error")),
        ("nvme", r"nvme (?P<device>nvme\d{1,4}): (?:controller is down|Device not ready|I/O .{1,40}"
         r"timeout).{0,100}", _as("disk", "error")),
        ("I/O error", r"I/O error, dev (?P<device>[\w-]{1,30}).{0,100}", _as("disk", "error")),
        ("read-only", r"(?P<device>\([\w-]{1,30}\))?:? ?Remounting filesystem read-only",
         _as("filesystem_readonly", "critical")),
        ("EXT4-fs error", r"EXT4-fs error \(device (?P<device>[\w-]{1,30})\).{0,150}",
         _as("filesystem", "error")),
        ("XFS", r"XFS \((?P<device>[\w-]{1,30})\): .{0,80}(?:[Cc]orruption|[Ss]hut).{0,80}",
         _as("filesystem", "error")),
        ("not responding", r"nfs: server (?P<device>\S{1,100}) not responding.{0,40}",
         _as("nfs", "error")),
        ("blocked for more", r"task \S{1,80} blocked for more than \d{1,9} seconds",
         _as("hung_task", "error")),
        ("lockup", r"soft lockup - CPU#\d{1,5} stuck.{0,100}", _as("lockup", "critical")),
        ("LOCKUP", r"hard LOCKUP.{0,60}", _as("lockup", "critical")),
        ("Kernel panic", r"Kernel panic - not syncing.{0,150}", _as("panic", "critical")),
        ("BUG", r"(?:kernel BUG at|BUG: unable to handle).{0,150}", _as("panic", "error")),
    )
)  # fmt: skip
"""A literal that must be in the text, the pattern, what is made of it; the first that matches."""


def fault_of(text: str) -> Fault | None:
    """What a message without its time says has happened; None for nearly all. O(rules)."""
    for literal, pattern, read in _RULES:
        if literal in text and (found := pattern.search(text)):
            return read(found)
    return None
