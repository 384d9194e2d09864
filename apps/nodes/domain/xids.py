"""Numbers of NVIDIA's driver (Xid) and switch (SXid) errors: what they mean and what to do.

The numbers and what raises them are NVIDIA's, https://docs.nvidia.com/deploy/xid-errors/ and the
Fabric Manager guide, appendix "NVSwitch SXid errors"; words, severities and advice are ours. Xids
that only follow another event (43, 45, 63, 94, 154 ...) are warnings: they are never the cause.
Plain Python.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

HARDWARE, EITHER, PROGRAM, DRIVER, NOBODY = (
    "hardware", "program or hardware", "program", "driver", "follows another event"
)  # fmt: skip

RESET = "drain the node and reset the GPU"
REBOOT = "drain the node and reboot it"
REPLACE = "drain the node, power-cycle it; replace the GPU if it recurs"
LINK = "drain the node; look at the GPU at the other end; reset both"
CODE = "look at the program; test the GPU if others raise it too"
FIRST = "look for what came before it"
UPDATE = "update driver and firmware; reboot the node if it comes again"
COOL = "check cooling and power of the node"


@dataclass(frozen=True, slots=True)
class Code:
    """severity: info, warning, error or critical. blame: who acts. action: what to do first."""

    meaning: str
    severity: str
    blame: str
    action: str

    def words(self) -> str:
        """Everything but the severity, on one line."""
        return f"{self.meaning} ({self.blame}): {self.action}"


XIDS: Final = {
    8: Code("the GPU stopped processing", "error", EITHER, CODE),
    13: Code("access out of bounds or the like", "error", EITHER, CODE),
    31: Code("an illegal address was used", "error", EITHER, CODE),
    32: Code("invalid or corrupted push buffer", "error", EITHER, REBOOT),
    38: Code("driver firmware error", "error", DRIVER, UPDATE),
    43: Code("a program's channel was stopped after its error", "warning", NOBODY, FIRST),
    44: Code("graphics engine fault in a context switch", "error", HARDWARE, RESET),
    45: Code("channels were cleaned up after an end or an error", "warning", NOBODY, FIRST),
    46: Code("the GPU stopped processing", "critical", HARDWARE, RESET),
    48: Code("double-bit ECC error, not corrected", "critical", HARDWARE, RESET),
    54: Code("auxiliary power is not connected", "critical", HARDWARE, COOL),
    56: Code("display engine error", "error", HARDWARE, REPLACE),
    57: Code("memory interface not set up", "critical", HARDWARE, REPLACE),
    58: Code("unstable memory interface", "critical", HARDWARE, REPLACE),
    60: Code("video processor exception", "error", EITHER, CODE),
    61: Code("breakpoint or warning of the internal micro-controller", "error", HARDWARE, RESET),
    62: Code("the internal micro-controller halted", "critical", HARDWARE, RESET),
    63: Code("a row of memory was marked for remapping", "warning", NOBODY, RESET),
    64: Code("a row could not be remapped", "critical", HARDWARE, REPLACE),
    66: Code("illegal access by the driver", "error", DRIVER, UPDATE),
    68: Code("video processor exception", "error", EITHER, CODE),
    69: Code("graphics engine class error", "error", EITHER, CODE),
    74: Code("NVLink error", "error", HARDWARE, LINK),
    78: Code("vGPU could not start", "error", DRIVER, UPDATE),
    79: Code("the GPU fell off the bus", "critical", HARDWARE, REPLACE),
    80: Code("corrupted data sent to the GPU", "critical", HARDWARE, REBOOT),
    81: Code("error of the VGA subsystem", "error", HARDWARE, REPLACE),
    92: Code("high rate of single-bit ECC errors", "warning", HARDWARE, REPLACE),
    93: Code("violation by the micro-controller", "warning", DRIVER, UPDATE),
    94: Code("ECC error, contained to one program", "error", HARDWARE, RESET),
    95: Code("ECC error, not contained: every program is hit", "critical", HARDWARE, RESET),
    109: Code("a context switch timed out", "error", EITHER, CODE),
    110: Code("security fault", "critical", HARDWARE, REBOOT),
    119: Code("the GPU system processor did not answer in time", "critical", HARDWARE, RESET),
    120: Code("error of the GPU system processor", "critical", HARDWARE, RESET),
    121: Code("corrected errors on the link between CPU and GPU", "warning", HARDWARE, RESET),
    122: Code("power management could not read the board", "error", HARDWARE, COOL),
    123: Code("power management could not write to the board", "error", HARDWARE, RESET),
    137: Code("NVLink memory access fault", "error", EITHER, CODE),
    140: Code("ECC error that was not recovered", "critical", HARDWARE, RESET),
    143: Code("the GPU could not be initialised", "critical", HARDWARE, RESET),
    **{n: Code("NVLink 5 error", "error", HARDWARE, LINK) for n in range(144, 151)},
    151: Code("key rotation failed", "error", DRIVER, REBOOT),
    154: Code("the driver says which recovery the GPU needs", "warning", NOBODY, FIRST),
    155: Code("NVLink software error", "error", DRIVER, RESET),
    156: Code("resources of a program were retired", "warning", NOBODY, FIRST),
    157: Code("resources of a program may be retired", "warning", NOBODY, FIRST),
    158: Code("fatal timeout of the GPU", "critical", HARDWARE, RESET),
}
_OTHER_XID: Final = Code("an error of the GPU that is not in our table", "error", EITHER, CODE)

SXIDS: Final = {
    11004: ("a GPU asked for memory it has no rights to", NOBODY, FIRST),
    11012: ("single-bit ECC error of an ingress, corrected", HARDWARE, LINK),
    12020: ("packets of a link came out of order", HARDWARE, LINK),
    12028: ("a request without rights, often while a GPU resets", NOBODY, FIRST),
    14017: ("too many single-bit ECC errors", HARDWARE, LINK),
    19084: ("the heartbeat of a link stopped", HARDWARE, LINK),
    20001: ("a link sends packets again", HARDWARE, LINK),
    20034: ("a link went down", HARDWARE, LINK),
    22003: ("the controller of the links halted", HARDWARE, REBOOT),
    22013: ("a link asked for attention", NOBODY, FIRST),
}
"""Meaning, blame and action; how bad it is a switch says itself."""
_OTHER_SXID: Final = ("an error of a switch that is not in our table", HARDWARE, LINK)


def xid(number: int) -> Code:
    """What an Xid means; a number that is not in the table is an error of the GPU."""
    return XIDS.get(number, _OTHER_XID)


def sxid(number: int, *, fatal: bool) -> Code:
    """What an SXid means. fatal: as the switch says; links stay down after a fatal one."""
    meaning, blame, action = SXIDS.get(number, _OTHER_SXID)
    return Code(meaning, "critical" if fatal else "warning", blame, action)
