"""When a line of the kernel was said, by which machine, and what it says. Plain Python.

Forms: dmesg (seconds since boot, ctime, ISO, relative; with `--decode` or `--raw` in front),
/dev/kmsg, `journalctl -k -o json`, and syslog files with BSD or ISO times.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from apps.core.errors import BadPayload
from apps.logs.domain.reading.headers import Clock

_MONTHS: Final = (
    "Jan",
    "Feb",
    "Mar",
    "Apr",
    "May",
    "Jun",
    "Jul",
    "Aug",
    "Sep",
    "Oct",
    "Nov",
    "Dec",
)
_MONTH: Final = "|".join(_MONTHS)
_ISO: Final = (
    r"(?P<day>\d{4}-\d\d-\d\d)T(?P<clock>\d\d:\d\d:\d\d)"
    r"(?:[.,](?P<fraction>\d{1,9}))?(?P<zone>Z|[+-]\d\d:?\d\d)?"
)
_FRONT = re.compile(r"<\d{1,4}>|(?:kern|user|daemon|syslog) *:\w{1,8} *: ?")
_KMSG = re.compile(r"\d{1,4},\d{1,20},(?P<usec>\d{1,17}),[^;\n]{0,80};(?P<text>.*)", re.DOTALL)
_SINCE_BOOT = re.compile(r"\[ *(?P<s>\d{1,9})\.(?P<usec>\d{6})\] ?(?P<text>.*)", re.DOTALL)
_CTIME = re.compile(
    rf"\[[A-Z][a-z]{{2}} (?P<month>{_MONTH}) (?P<day>[ \d]\d) (?P<clock>\d\d:\d\d:\d\d) "
    r"(?P<year>\d{4})\] ?(?P<text>.*)",
    re.DOTALL,
)
_MINUTE = re.compile(
    rf"\[(?P<month>{_MONTH}) ?(?P<day>[ \d]\d) (?P<clock>\d\d:\d\d)\] ?(?P<text>.*)", re.DOTALL
)
_LATER = re.compile(r"\[ *\+(?P<s>\d{1,9})\.(?P<usec>\d{6})\] ?(?P<text>.*)", re.DOTALL)
_SAID_ISO = re.compile(rf"\[?{_ISO}\]? (?P<text>.*)", re.DOTALL)
_SYSLOG = re.compile(
    rf"(?P<month>{_MONTH}) (?P<day>[ \d]\d) (?P<clock>\d\d:\d\d:\d\d) (?P<text>.*)", re.DOTALL
)
_WRITER = re.compile(
    r"(?P<host>[\w.-]{1,253}) kernel: (?:\[ *\d{1,9}\.\d{6}\] ?)?(?P<text>.*)", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Said:
    """One line. host: "" if it names none. form: journald, kmsg, dmesg or syslog."""

    time_ns: int
    host: str
    form: str
    text: str


@dataclass(slots=True)
class Reader:
    """Reads lines in their order. boot_ns: when the machine started, None if nobody said so."""

    clock: Clock
    boot_ns: int | None
    _last_ns: int | None = field(default=None, init=False)

    def read(self, line: str) -> Said | None:
        """None for a line without a time of its own. BadPayload if it counts from an unknown boot.

        Text in braces that is no JSON is such a line, too.
        """
        if line.startswith("{"):
            return self._journal(line)
        text = line[front.end() :] if (front := _FRONT.match(line)) else line
        if found := _KMSG.match(line):
            return Said(self._booted(int(found["usec"])), "", "kmsg", found["text"])
        if found := _SINCE_BOOT.match(text):
            micros = int(found["s"]) * 1_000_000 + int(found["usec"])
            return Said(self._booted(micros), "", "dmesg", found["text"])
        return self._dated(text)

    def _booted(self, micros: int) -> int:
        if self.boot_ns is None:
            raise BadPayload(
                "the lines count from the start of the machine, and nobody says when that was",
                where="boot_s",
                hint="add ?boot_s=N, N of the line btime in /proc/stat, or send --time-format=iso",
            )
        return self.boot_ns + micros * 1_000

    def _dated(self, text: str) -> Said | None:
        if found := _SAID_ISO.match(text):
            stamp = f"{found['day']} {found['clock']}"
            time_ns = self.clock.iso(stamp, found["fraction"], found["zone"])
        elif found := _CTIME.match(text):
            month = _MONTHS.index(found["month"]) + 1
            stamp = f"{found['year']}-{month:02d}-{int(found['day']):02d} {found['clock']}"
            time_ns = self.clock.iso(stamp, None, None)
        elif found := _SYSLOG.match(text) or _MINUTE.match(text):
            time_ns = self._last_ns = self._without_year(found)
        elif (found := _LATER.match(text)) and self._last_ns is not None:
            micros = int(found["s"]) * 1_000_000 + int(found["usec"])
            time_ns = self._last_ns = self._last_ns + micros * 1_000
        else:
            return None
        return None if time_ns is None else _written(time_ns, found["text"])

    def _without_year(self, found: re.Match[str]) -> int | None:
        month, day = _MONTHS.index(found["month"]) + 1, int(found["day"])
        clock = found["clock"] if len(found["clock"]) == 8 else f"{found['clock']}:00"
        return self.clock.glog(f"{month:02d}{day:02d}", clock, None)

    def _journal(self, line: str) -> Said | None:
        try:
            entry = msgspec.json.decode(line)
        except (msgspec.DecodeError, RecursionError):
            return None
        stamp = str(entry.get("__REALTIME_TIMESTAMP", ""))
        if not (stamp.isascii() and stamp.isdigit() and len(stamp) < 17):
            return None
        host = entry.get("_HOSTNAME")
        kernel = entry.get("_TRANSPORT", "kernel") == "kernel"
        text = _message(entry) if kernel else ""
        return Said(int(stamp) * 1_000, host if isinstance(host, str) else "", "journald", text)


def _written(time_ns: int, text: str) -> Said:
    writer = _WRITER.match(text)
    if writer is None:
        return Said(time_ns, "", "dmesg", text)
    return Said(time_ns, writer["host"], "syslog", writer["text"])


def _message(entry: Mapping[str, Any]) -> str:
    """A message that is no UTF-8 comes as a list of bytes."""
    said = entry.get("MESSAGE")
    if isinstance(said, list):
        raw = bytes(v for v in said if isinstance(v, int) and 0 <= v < 256)
        return raw.decode("utf-8", "replace")
    return said if isinstance(said, str) else ""
