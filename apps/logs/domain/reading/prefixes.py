"""The rarer things that stand before a message: one row of RULES for each way of writing.

Sources: glog and absl, the kernel's ring buffer (dmesg in four forms, /dev/kmsg), syslog, Ray,
NeMo, vLLM, rich, loguru, Hydra, logrus, HCCL, Composer, Python's and Go's usual dates, and a
progress bar whose end of line never came. Plain Python; every pattern is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from apps.core.records import Severity

if TYPE_CHECKING:
    from apps.logs.domain.reading.headers import Clock

LEVELS: Final = {
    "TRACE": Severity.DEBUG,
    "DEBUG": Severity.DEBUG,
    "INFO": Severity.INFO,
    "NOTICE": Severity.INFO,
    "SUCCESS": Severity.INFO,
    "WARN": Severity.WARNING,
    "WARNING": Severity.WARNING,
    "ERROR": Severity.ERROR,
    "ERR": Severity.ERROR,
    "EXCEPTION": Severity.ERROR,
    "CRITICAL": Severity.CRITICAL,
    "CRIT": Severity.CRITICAL,
    "FATAL": Severity.CRITICAL,
    "PANIC": Severity.CRITICAL,
    "ALERT": Severity.CRITICAL,
    "EMERG": Severity.CRITICAL,
    "D": Severity.DEBUG,
    "I": Severity.INFO,
    "W": Severity.WARNING,
    "E": Severity.ERROR,
    "C": Severity.CRITICAL,
    "F": Severity.CRITICAL,
}
_MONTHS: Final = {
    name: f"{number:02d}"
    for number, name in enumerate(
        ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"), 1
    )
}
_MONTH = "|".join(_MONTHS)


@dataclass(slots=True)
class Head:
    """The parts in front of one message. label: names a process that has no rank here."""

    time_ns: int | None
    level: int | None
    rank: int | None
    local_rank: int | None = None
    label: str | None = None

    def at(self, time_ns: int | None) -> None:
        """The first time of a line counts: that of the outermost writer."""
        self.time_ns = time_ns if self.time_ns is None else self.time_ns

    def rated(self, name: str) -> None:
        """The first level of a line counts."""
        level = LEVELS.get(name.upper())
        self.level = level if self.level is None else self.level


Reader = Callable[[Head, re.Match[str], "Clock"], None]


@dataclass(frozen=True, slots=True)
class Rule:
    """One way of writing. first: characters it may begin with. read: takes what it says."""

    first: frozenset[str]
    pattern: re.Pattern[str]
    read: Reader


def _nothing(_head: Head, _found: re.Match[str], _clock: Clock) -> None:
    """What only stands in the way."""


def _ray(head: Head, found: re.Match[str], _clock: Clock) -> None:
    head.label = f"{found['ip'] or ''}:{found['pid'] or ''}"
    named = re.search(r"\brank=(\d{1,7})\b", found["inside"] or "")
    if named is not None and head.rank is None:
        head.rank = int(named[1])


def kernel_level(number: int) -> int | None:
    """Severity of a kernel priority. Milder ones say nothing: an Xid comes as a mere warning."""
    if number <= 2:
        return Severity.CRITICAL
    return Severity.ERROR if number == 3 else None


def _kmsg(head: Head, found: re.Match[str], _clock: Clock) -> None:
    head.level = kernel_level(int(found[1]) & 7) if head.level is None else head.level


def _decoded(head: Head, found: re.Match[str], _clock: Clock) -> None:
    if found[1] in ("err", "crit", "alert", "emerg"):
        head.rated(found[1])


def _ctime(head: Head, found: re.Match[str], clock: Clock) -> None:
    month, day, hour, year = found[1], int(found[2]), found[3], found[4]
    head.at(clock.iso(f"{year}-{_MONTHS[month]}-{day:02d} {hour}", None, None))


def _named_day(head: Head, found: re.Match[str], clock: Clock) -> None:
    head.at(clock.iso(f"{found[3]}-{_MONTHS[found[1]]}-{found[2]} {found[4]}", None, None))


def _syslog(head: Head, found: re.Match[str], clock: Clock) -> None:
    if found[1]:
        head.level = kernel_level(int(found[1]) & 7) if head.level is None else head.level
    head.at(clock.glog(f"{_MONTHS[found[2]]}{int(found[3]):02d}", found[4], None))


def _glog_undated(head: Head, found: re.Match[str], _clock: Clock) -> None:
    head.rated(found[1])


def _glog_year(head: Head, found: re.Match[str], clock: Clock) -> None:
    head.rated(found[1])
    day = found[2]
    head.at(clock.iso(f"{day[:4]}-{day[4:6]}-{day[6:]} {found[3]}", found[4], None))


def _absl_early(head: Head, found: re.Match[str], clock: Clock) -> None:
    head.rated(found[1])
    head.at(clock.epoch(found[2]))


def _nemo(head: Head, found: re.Match[str], clock: Clock) -> None:
    head.rated(found[1])
    head.at(clock.iso(found[2], None, None))


def _year_first(head: Head, found: re.Match[str], clock: Clock) -> None:
    head.at(clock.iso(f"{found[1]}-{found[2]}-{found[3]} {found[4]}", found[5], None))


def _month_first(head: Head, found: re.Match[str], clock: Clock) -> None:
    year = found[3] if len(found[3]) == 4 else f"20{found[3]}"
    head.at(clock.iso(f"{year}-{found[1]}-{found[2]} {found[4]}", found[5], None))


def _vllm(head: Head, found: re.Match[str], clock: Clock) -> None:
    head.rated(found[1])
    head.at(clock.glog(f"{found[2]}{found[3]}", found[4], None))


def _level(head: Head, found: re.Match[str], _clock: Clock) -> None:
    head.rated(found[1])


def _logrus(head: Head, found: re.Match[str], clock: Clock) -> None:
    head.at(clock.iso(found[1], found[2], found[3]))
    head.rated(found[4])


def _hccl(head: Head, found: re.Match[str], clock: Clock) -> None:
    head.at(clock.iso(f"{found[1]} {found[2]}", None, None))
    if head.rank is None and not found[3].startswith("-"):
        head.rank = int(found[3])


def _ranked(head: Head, found: re.Match[str], _clock: Clock) -> None:
    if head.rank is None:
        head.rank = int(found[1])


def _composer(head: Head, found: re.Match[str], clock: Clock) -> None:
    _ranked(head, found, clock)
    head.rated(found[2])


def _epoch(head: Head, found: re.Match[str], clock: Clock) -> None:
    head.at(clock.epoch(found[1]))


_WORDS = "DEBUG|INFO|NOTICE|SUCCESS|WARN|WARNING|ERROR|CRITICAL|FATAL|TRACE"
_HMS = r"\d\d:\d\d:\d\d"


def _rule(first: str, pattern: str, read: Reader) -> Rule:
    return Rule(frozenset(first), re.compile(pattern), read)


RULES: Final = (
    _rule("\u2400", "\u2400{1,100}", _nothing),
    _rule(
        "(",
        r"\((?:[A-Za-z_][\w.:]{0,80}(?:\((?P<inside>[^()\n]{0,80})\))? pid=(?P<pid>\d{1,10})"
        r"(?:, ip=(?P<ip>[\w.:]{1,60}))?|(?:raylet|autoscaler|gcs_server)(?:, ip=[\w.:]{1,60})?)"
        r"\) ?",
        _ray,
    ),
    _rule("0123456789", r"(\d{1,4}),\d{1,20},\d{1,20},[-cf+](?:,[^;\n]{0,80})?;", _kmsg),
    _rule(
        "kumdaslnc",
        r"(?:kern|user|mail|daemon|auth|syslog|lpr|news|uucp|cron|authpriv|ftp|local\d) *"
        r":(emerg|alert|crit|err|warn|notice|info|debug) *: ?",
        _decoded,
    ),
    _rule("[", r"\[ *\+? *\d{1,9}\.\d{6}\](?: |$)", _nothing),
    _rule("[", rf"\[[A-Z][a-z]{{2}} ({_MONTH}) ([ \d]\d) ({_HMS}) (\d{{4}})\] ?", _ctime),
    _rule("[", rf"\[({_MONTH}) (\d\d) (\d{{4}}) ({_HMS})\] ?", _named_day),
    _rule("[", r"\[tid \d{1,10}\] ", _nothing),
    _rule(
        "<JFMASOND",
        rf"(?:<(\d{{1,3}})>)?({_MONTH}) +(\d{{1,2}}) ({_HMS}) [\w.-]{{1,100}} "
        r"[\w./@-]{1,80}(?:\[\d{1,10}\])?: ",
        _syslog,
    ),
    _rule("[", r"\[([IWEF]) [\w.-]{1,80}\.(?:cpp|cc|cu|h|hpp|py):\d{1,6}\] ?", _glog_undated),
    _rule(
        "[IWEF",
        rf"\[?([IWEF])(\d{{8}}) ({_HMS})(?:\.(\d{{1,9}}))? +(?:\d{{1,10}} )?"
        r"[\w./-]{1,200}:\d{1,6}\] ?",
        _glog_year,
    ),
    _rule(
        "IWEF",
        r"([IWEF])0000 00:00:(\d{9,11}\.\d{1,9}) +(?:\d{1,10} )?[\w./-]{1,200}:\d{1,6}\] ?",
        _absl_early,
    ),
    _rule(
        "[",
        rf"\[NeMo ([DIWEC]) (\d{{4}}-\d\d-\d\d {_HMS})(?:[.,]\d{{1,9}})? "
        r"[\w.-]{1,80}:\d{1,6}\] ?",
        _nemo,
    ),
    _rule(
        "[0123456789",
        rf"\[?(\d{{4}})/(\d\d)/(\d\d) ({_HMS})(?:[.,](\d{{1,9}}))?\]?(?: |:|$)",
        _year_first,
    ),
    _rule(
        "[0123456789",
        rf"\[?(\d\d)/(\d\d)/(\d{{4}}|\d\d) ({_HMS})(?:[.,](\d{{1,9}}))?\]?(?: - | |:|$)",
        _month_first,
    ),
    _rule(
        "DIWEC",
        rf"(DEBUG|INFO|WARNING|ERROR|CRITICAL) (\d\d)-(\d\d) ({_HMS})(?:\.\d{{1,9}})? "
        r"\[?[\w./-]{1,200}:\d{1,6}\] ",
        _vllm,
    ),
    _rule("|", rf"\| ({_WORDS}) +\| (?:[\w.<>]{{1,200}}:[\w<>]{{1,200}}:\d{{1,6}} - )?", _level),
    _rule("[", rf"\[[\w.]{{1,200}}\]\[({_WORDS})\](?: - ?| )", _level),
    _rule(
        "DINWECFST", rf"({_WORDS}) +(?=[\w./<>-]{{1,200}}:\d{{1,6}}\b|\d{{4}}-\d\d-\d\d)", _level
    ),
    _rule(
        "t",
        rf'time="(\d{{4}}-\d\d-\d\d[T ]{_HMS})(?:\.(\d{{1,9}}))?(Z|[+-]\d\d:\d\d)?" '
        r"level=(\w{1,12}) ",
        _logrus,
    ),
    _rule(
        "0123456789",
        rf"(\d{{4}}-\d\d-\d\d)-({_HMS}) \(PID:\d{{1,10}}, Device:-?\d{{1,5}}, "
        r"RankID:(-?\d{1,7})\) ?",
        _hccl,
    ),
    _rule("[", r"\[Rank (\d{1,7})\] (?=\(after )", _ranked),
    _rule(" r", rf" ?rank(\d{{1,7}})\[\d{{1,10}}\]\[[^\]\n]{{1,80}}\]: ({_WORDS}): ", _composer),
    _rule("[1", r"\[?(1[6-9]\d{8}\.\d{3,9})\]? ", _epoch),
)
_BAR = re.compile(
    r"[^|\n]{0,120}?\d{1,3}%\|[^|\n]{0,200}\| *[\d.]{1,12}[kMG]?/[\d.]{1,12}[kMG]? "
    r"\[[^\]\n]{0,1000}\](?=[^\s,\]])"
)
FIRST: Final = frozenset().union(*(rule.first for rule in RULES))
"""Characters that a text begins with which a rule may read."""
_BY_FIRST: Final = {first: tuple(rule for rule in RULES if first in rule.first) for first in FIRST}


_BARE_LEVEL = re.compile(rf"({_WORDS})(?: +|$)")


def behind_bar(text: str) -> int:
    """Index behind a progress bar that a message follows on the same line; 0 if there is none.

    A process that dies does not end the line of its bar, so that its first words are glued to it.
    """
    if "%|" not in text:
        return 0
    found = _BAR.match(text)
    return found.end() if found is not None else 0


def rare_part(text: str, pos: int, head: Head, clock: Clock) -> int:
    """Index after the part at `pos` that one of RULES reads; `pos` itself if none does."""
    for rule in _BY_FIRST.get(text[pos : pos + 1], ()):
        found = rule.pattern.match(text, pos)
        if found is not None:
            rule.read(head, found, clock)
            return found.end()
    if head.time_ns is not None and head.level is None:
        found = _BARE_LEVEL.match(text, pos)
        if found is not None:
            head.rated(found[1])
            return found.end()
    return pos
