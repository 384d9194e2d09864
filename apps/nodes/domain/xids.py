"""Numbers of NVIDIA's driver (Xid) and switch (SXid) errors: what they mean and what to do.

The numbers, what raises them and what helps at once are those of NVIDIA's Xid catalog,
https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html (Ampere and newer; 56, 57, 58,
61, 81, 122 and 123 only of the list for older GPUs), and of the Fabric Manager guide,
DU-09883-001, appendices D.4 and D.5; D.6 (12020, 22003: always fatal to the whole fabric) as
github.com/leptonai/gpud quotes it. All were compared with the names that the open driver gives the
same numbers: nverror.h, and NVSWITCH_ERR_HW_* of ctrl_dev_nvswitch.h, in
github.com/NVIDIA/open-gpu-kernel-modules. Words, severities and advice are ours.

What the catalog says to ignore at first is a warning at most where it stops no program, and so is
what only follows another event (43, 45, 63, 154, 171 ...): that is never the cause. 144 to 150 are
links whose message says more than the number. Plain Python.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

HARDWARE, EITHER, FIRMWARE, DRIVER, CONFIGURED, NOBODY = (
    "hardware", "program or hardware", "firmware or hardware", "driver", "configuration",
    "follows another event",
)  # fmt: skip

RESET = "drain the node and reset the GPU"
REBOOT = "drain the node and reboot it"
REPLACE = "drain the node, power-cycle it; replace the GPU if it recurs"
LINK = "drain the node; look at the GPU at the other end; reset both"
CODE = "look at the program; test the GPU if others raise it too"
FIRST = "look for what came before it"
UPDATE = "update driver and firmware; reboot the node if it comes again"
COOL = "check cooling and power of the node"
LATER = "nothing now; reset the GPU when the node is free"
RESTART = "start the job again; reset the GPU when the node is free"
WATCH = "nothing now; ask the vendor if it goes on"
AGAIN = "start the job again; test the GPU if it comes again"
BUS = "start the job again; look at the PCIe link if it comes again"
FABRIC = "drain the node; reset all GPUs and switches"
PARTITION = "check the partitions of the fabric manager; start the job again"
GONE = "drain the node and reset the GPU; replace it if it recurs"


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


_MEDIA: Final = (82, 83, 84, 86, 88, 89, *range(96, 106), 139, 142)
XIDS: Final = {
    8: Code("the GPU stopped processing", "error", EITHER, CODE),
    11: Code("a corrupted stream of commands", "error", EITHER, CODE),
    13: Code("access out of bounds or the like", "error", EITHER, CODE),
    25: Code("an illegal stream of commands", "error", EITHER, CODE),
    31: Code("an illegal address was used", "error", EITHER, CODE),
    32: Code("commands arrived corrupted", "error", EITHER, BUS),
    37: Code("driver firmware error", "warning", DRIVER, CODE),
    38: Code("driver firmware error", "warning", DRIVER, UPDATE),
    **{n: Code("copy engine error", "error", EITHER, AGAIN) for n in (39, 40, 41)},
    43: Code("a program's channel was stopped after its error", "warning", NOBODY, FIRST),
    44: Code("graphics engine fault in a context switch", "warning", EITHER, WATCH),
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
    63: Code("a memory row was marked for remapping", "warning", NOBODY, LATER),
    64: Code("a row could not be remapped", "critical", HARDWARE, GONE),
    66: Code("illegal access by the driver", "warning", DRIVER, UPDATE),
    67: Code("illegal access by the driver", "warning", DRIVER, UPDATE),
    68: Code("video processor exception", "error", EITHER, CODE),
    69: Code("graphics engine class error", "error", EITHER, CODE),
    **{n: Code("copy engine error", "error", EITHER, AGAIN) for n in (70, 71, 72, 75, 76, 77, 85)},
    74: Code("NVLink error", "error", HARDWARE, LINK),
    78: Code("vGPU could not start", "error", DRIVER, UPDATE),
    79: Code("the GPU fell off the bus", "critical", HARDWARE, REPLACE),
    80: Code("corrupted data sent to the GPU", "error", EITHER, CODE),
    81: Code("error of the VGA subsystem", "error", HARDWARE, REPLACE),
    **{n: Code("video or image engine error", "error", EITHER, AGAIN) for n in _MEDIA},
    92: Code("high rate of single-bit ECC errors, corrected", "warning", HARDWARE, WATCH),
    93: Code("the limit of writes to the InfoROM is reached", "warning", DRIVER, WATCH),
    94: Code("ECC error, contained to one program", "error", HARDWARE, RESTART),
    95: Code("ECC error, not contained: every program is hit", "critical", HARDWARE, RESET),
    106: Code("a test message of the board management", "info", NOBODY, FIRST),
    107: Code("a test message of the board management", "info", NOBODY, FIRST),
    108: Code("an address across NVLink was not translated", "warning", EITHER, WATCH),
    109: Code("a context switch timed out", "error", EITHER, RESET),
    110: Code("security fault", "critical", HARDWARE, REPLACE),
    119: Code("the GPU system processor did not answer in time", "critical", FIRMWARE, RESET),
    120: Code("error of the GPU system processor", "critical", FIRMWARE, RESET),
    121: Code("corrected errors on the link between CPU and GPU", "warning", HARDWARE, LATER),
    122: Code("power management could not read the board", "error", HARDWARE, COOL),
    123: Code("power management could not write to the board", "error", HARDWARE, RESET),
    **{n: Code("copy engine error", "error", EITHER, AGAIN) for n in range(126, 136)},
    136: Code("an NVLink could not be trained", "error", HARDWARE, LINK),
    137: Code("NVLink memory access fault", "error", EITHER, CODE),
    140: Code("ECC error that was not recovered", "critical", HARDWARE, RESET),
    141: Code("error of the fast path of CUDA", "warning", EITHER, WATCH),
    143: Code("the GPU could not be initialised", "critical", HARDWARE, RESET),
    **{n: Code("NVLink 5 error", "error", HARDWARE, LINK) for n in range(144, 151)},
    151: Code("key rotation failed", "error", DRIVER, REBOOT),
    152: Code("memory fault of the deep learning accelerator", "warning", EITHER, WATCH),
    153: Code("timeout of the deep learning accelerator", "warning", EITHER, WATCH),
    154: Code("the driver says which recovery the GPU needs", "warning", NOBODY, FIRST),
    155: Code("an NVLink went down, maybe on purpose", "error", DRIVER, RESET),
    156: Code("a faulty part of the GPU was retired", "warning", HARDWARE, RESET),
    157: Code("a faulty part has no spare left", "warning", HARDWARE, WATCH),
    158: Code("fatal timeout of the GPU", "critical", HARDWARE, RESET),
    159: Code("error on the link between CPU and GPU", "error", HARDWARE, RESET),
    160: Code("a memory channel was retired", "warning", HARDWARE, WATCH),
    161: Code("a memory channel could not be retired", "warning", HARDWARE, WATCH),
    162: Code("power smoothing works again", "info", NOBODY, FIRST),
    163: Code("power smoothing stopped", "warning", HARDWARE, COOL),
    164: Code("power smoothing is nearly worn out", "warning", HARDWARE, WATCH),
    165: Code("power smoothing is worn out", "warning", HARDWARE, WATCH),
    167: Code("fatal timeout on PCIe", "critical", HARDWARE, REPLACE),
    168: Code("errors in reserved memory, less is usable", "warning", HARDWARE, LATER),
    169: Code("the security micro-controller halted", "error", HARDWARE, RESET),
    171: Code("details of Xid 48: the error was in DRAM", "warning", NOBODY, FIRST),
    172: Code("details of Xid 48: the error was in SRAM", "warning", NOBODY, FIRST),
}
_OTHER_XID: Final = Code("an error of the GPU that is not in our table", "error", EITHER, CODE)

_CORRECTED: Final = (
    11012, 11021, 11022, 11023, 12021, 12023, 15008, 15011, 19049, 19055, 19057, 19059, 19062,
    19065, 19068, 19071, 24001, 24002, 24003,
)  # fmt: skip
HARMLESS_SXIDS: Final = frozenset({*_CORRECTED, 22013})
"""No GPU notices them, as long as the switch says that they are not fatal."""
SXIDS: Final = {
    11004: ("wrong partition, traffic of a GPU stalls", CONFIGURED, PARTITION),
    **dict.fromkeys(_CORRECTED, ("single-bit ECC error of a switch, corrected", HARDWARE, WATCH)),
    12020: ("packets left a port out of order, the whole fabric fails", HARDWARE, REBOOT),
    12028: ("a request without rights, traffic of a GPU stalls", EITHER, AGAIN),
    14017: ("a port waited in vain for an answer", HARDWARE, LINK),
    19084: ("the heartbeat of a link stopped", HARDWARE, FABRIC),
    20001: ("a link sends packets again", HARDWARE, WATCH),
    20012: ("broken link, or it was shut down", HARDWARE, LINK),
    20034: ("a link went down", HARDWARE, LINK),
    22003: ("the controller of the links halted, the whole fabric fails", HARDWARE, REBOOT),
    22013: ("a link asked for attention, harmless", NOBODY, WATCH),
}
"""Meaning, blame and action; how bad it is a switch says itself."""
_OTHER_SXID: Final = ("an error of a switch that is not in our table", HARDWARE, LINK)


def xid(number: int) -> Code:
    """What an Xid means; a number that is not in the table is an error of the GPU."""
    return XIDS.get(number, _OTHER_XID)


def sxid(number: int, *, fatal: bool) -> Code:
    """What an SXid means. fatal: as the switch says; links stay down after a fatal one."""
    meaning, blame, action = SXIDS.get(number, _OTHER_SXID)
    mild = "info" if number in HARMLESS_SXIDS else "warning"
    return Code(meaning, "critical" if fatal else mild, blame, action)
