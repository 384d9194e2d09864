"""Start one program that dies with its parent, if asked under another user; a stand-alone script.

    python -I -S launch.py PARENT_PID SIGNAL AS PROGRAM [ARGUMENT ...]

SIGNAL is sent to the program when the parent dies (Linux). AS: "self" keeps the user; "userns"
enters a user namespace where this root is uid 65534; "nobody" becomes uid 65534 outright.
Postgres refuses uid 0; both ways let root run it. The parent-death signal is set last, because a
change of user clears it, and this process has one thread, which unshare demands.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

NOBODY = 65534
_PR_SET_PDEATHSIG, _PR_SET_KEEPCAPS, _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE = 1, 8, 47, 2
_CLONE_NEWUSER = 0x10000000
_CAP_DAC_OVERRIDE = 1
_CAPABILITY_VERSION_3 = 0x20080522


def main(argv: list[str]) -> None:
    """Become the program; only returns by exception."""
    parent, signal_number, way, *program = argv
    libc = ctypes.CDLL(None, use_errno=True)
    if way == "userns":
        _enter_user_namespace(libc)
    elif way == "nobody":
        _become_nobody(libc)
    if sys.platform == "linux":
        _check(libc.prctl(_PR_SET_PDEATHSIG, int(signal_number), 0, 0, 0), "PR_SET_PDEATHSIG")
        if os.getppid() != int(parent):  # it died before the signal was set
            os._exit(1)
    os.execv(program[0], program)  # noqa: S606 - no shell wanted


def _enter_user_namespace(libc: ctypes.CDLL) -> None:
    uid, gid = os.geteuid(), os.getegid()
    _check(libc.unshare(_CLONE_NEWUSER), "unshare")
    Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
    Path("/proc/self/uid_map").write_text(f"{NOBODY} {uid} 1", encoding="ascii")
    Path("/proc/self/gid_map").write_text(f"{NOBODY} {gid} 1", encoding="ascii")


def _become_nobody(libc: ctypes.CDLL) -> None:
    """Drop to uid 65534 but keep reading below a 0700 home, if this root may do that at all.

    Keeping CAP_DAC_OVERRIDE as an ambient capability saves a copy of the programs and works
    where the checkout lies below /root; Postgres looks only at the uid.
    """
    _check(libc.prctl(_PR_SET_KEEPCAPS, 1, 0, 0, 0), "PR_SET_KEEPCAPS")
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    bit = 1 << _CAP_DAC_OVERRIDE
    data = (ctypes.c_uint32 * 6)(bit, bit, bit, 0, 0, 0)
    if libc.capset(header, data) == 0:
        libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE, _CAP_DAC_OVERRIDE, 0, 0)


def _check(result: int, what: str) -> None:
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")


if __name__ == "__main__":
    main(sys.argv[1:])
