"""What stands before the message of a log line: tee prefix, rank, time stamp, level.

The order is that of the writers: container runtime stamp, torchrun tee `[role<LOCAL rank>]:`,
`[rank<GLOBAL rank>]:`, then the stamp and level of the logger. A tee prefix is taken off before the
rank prefix and never matches `[rankN]:` (taking one for the other makes local ranks global).
"""

from __future__ import annotations

import re
from calendar import timegm
from collections.abc import Sequence
from dataclasses import dataclass, field

from apps.logs.domain.reading.prefixes import FIRST, LEVELS, Head, behind_bar, rare_part

NS = 1_000_000_000
YEAR_NS = 31_556_952 * NS
MAX_CACHED = 50_000

_TEE = re.compile(r"\[(?!rank)[A-Za-z_]\w*?(\d{1,6})\]:")
_TASK = re.compile(r"(\d{1,6}): ")
_RANK = re.compile(r"\[rank ?(\d{1,7})\]:? ?")
_NAME = re.compile(r"(?:[\w.]+ )?- [\w.]+ - |\[[A-Za-z_][\w.]*\] ")
_CRI = re.compile(r"(?:stdout|stderr) [FP] ")
_STAMP = re.compile(
    r" ?\[?(\d{4}-\d\d-\d\d[ T_]\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?"
    r"(Z|[+-]\d\d:?\d\d)?\]?(?: |:|$|(?=\[))"
)
_GLOG = re.compile(
    r"\[?([IWEF])(\d{3,4}) (\d\d:\d\d:\d\d)(?:\.(\d{1,9}))? +(?:\d+ )?(?:[\w./-]+:\d+\] ?)?"
)
_LEVEL = re.compile(r"\[?(DEBUG|INFO|WARN(?:ING)?|ERROR|CRITICAL|FATAL)(?:\]:?|:| -) ?")

# The usual shapes of a whole text in one go; what is rarer goes on from where this one stops.
_USUAL = re.compile(
    r"^(?:\[rank ?(\d{1,7})\]:? ?)?"
    r"(?: ?\[?(\d{4}-\d\d-\d\d[ T_]\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?"
    r"(Z|[+-]\d\d:?\d\d)?\]?(?: |:|$))?"
    r"(?:\[(DEBUG|INFO|WARNING|ERROR|CRITICAL)\] )?"
    r"(?:\[rank ?(\d{1,7})\]:? ?)?(.*)$",
    re.MULTILINE,
)
_MORE = frozenset("[-0123456789IWEFDCs") | FIRST
_PARTS = 8
_SOON_NS = 36 * 3600 * NS
_SCALE = (0, 10**8, 10**7, 10**6, 10**5, 10**4, 1000, 100, 10, 1)


@dataclass(slots=True)
class Headers:
    """Headers of the lines of one text, as columns of equal length.

    time_ns, level, rank, local_rank: None where the line does not say. body: the message.
    labels: line number -> name of a process that has no rank there (Ray's address and pid).
    """

    time_ns: list[int | None]
    level: list[int | None]
    rank: list[int | None]
    local_rank: list[int | None]
    body: list[str]
    labels: dict[int, str] = field(default_factory=dict)


# Whole seconds of ISO stamps: neighbouring lines, and the files of all ranks, share them.
_iso_seconds: dict[str, int | None] = {}


class Clock:
    """Turns the stamps of one file into Unix nanoseconds.

    near_ns: a time close to the file's lines, and not before them; glog stamps have no year and
    take the latest one that is not later than a day and a half after it. Stamps without a zone
    are UTC plus `zone_offset_s`.
    """

    def __init__(self, near_ns: int, zone_offset_s: int = 0) -> None:
        self._near_ns = near_ns
        self.zone_offset_ns = zone_offset_s * NS
        self._seconds: dict[str, int | None] = {}

    def iso(self, stamp: str, fraction: str | None, zone: str | None) -> int | None:
        """Time of `2026-11-29 19:46:03`, or None if no such date exists."""
        base = _iso_seconds.get(stamp)
        if base is None:
            base = _remember(_iso_seconds, stamp, _seconds_of(stamp))
            if base is None:
                return None
        if fraction:
            base += int(fraction) * _SCALE[len(fraction)]
        if zone == "Z":
            return base
        return base - (_zone_ns(zone) if zone else self.zone_offset_ns)

    def glog(self, day: str, clock: str, fraction: str | None) -> int | None:
        """Time of `1129 19:52:29`; the month may lack its leading zero (`415` = 15 April)."""
        key = f"{day} {clock}"
        if key in self._seconds:
            base = self._seconds[key]
        else:
            year = self._latest_year(int(day[:-2]), day[-2:], clock)
            base = _remember(self._seconds, key, year)
        if base is None:
            return None
        return base + _fraction_ns(fraction) - self.zone_offset_ns

    def epoch(self, seconds: str) -> int | None:
        """Time of `1795981583.25`, Unix seconds; None outside 1970 to 2200."""
        whole, _, fraction = seconds.partition(".")
        time_ns = int(whole) * NS + _fraction_ns(fraction)
        return time_ns if time_ns < 230 * YEAR_NS else None

    def _latest_year(self, month: int, day: str, clock: str) -> int | None:
        year = 1970 + self._near_ns // YEAR_NS
        stamps = (f"{y:04d}-{month:02d}-{day} {clock}" for y in range(year + 1, year - 9, -1))
        times = [t for t in map(_seconds_of, stamps) if t is not None]
        past = (t for t in times if t - self.zone_offset_ns <= self._near_ns + _SOON_NS)
        return next(past, times[-1] if times else None)


def _remember(cache: dict[str, int | None], key: str, value: int | None) -> int | None:
    if len(cache) >= MAX_CACHED:
        cache.clear()
    cache[key] = value
    return value


def _seconds_of(stamp: str) -> int | None:
    year, month, day = int(stamp[:4]), int(stamp[5:7]), int(stamp[8:10])
    hour, minute, second = int(stamp[11:13]), int(stamp[14:16]), int(stamp[17:19])
    days = 31 if month in (1, 3, 5, 7, 8, 10, 12) else 30
    if month == 2:
        days = 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    if not (1970 <= year <= 2200 and 1 <= month <= 12 and 1 <= day <= days):
        return None
    if hour > 23 or minute > 59 or second > 60:
        return None
    return timegm((year, month, day, hour, minute, second)) * NS


def _fraction_ns(fraction: str | None) -> int:
    return int(fraction) * _SCALE[len(fraction)] if fraction else 0


def _zone_ns(zone: str) -> int:
    seconds = int(zone[1:3]) * 3600 + int(zone[-2:]) * 60
    return (seconds if zone[0] == "+" else -seconds) * NS


def read_headers(
    texts: Sequence[str], clock: Clock, *, tee: bool, tasks_are_ranks: bool = False
) -> Headers:
    """The headers of all lines. tee: also take `[role<N>]:` and Slurm's `N: ` for a local rank;
    tasks_are_ranks: that `N: ` is a global one, unless the line says another behind it.

    texts: without line ends. Cost: about 2 microseconds a usual line.
    """
    tasks: dict[int, int] = {}
    local_ranks: list[int | None] = [None] * len(texts)
    rests = texts
    if tee and tasks_are_ranks:
        tasks, rests = _strip_tasks(texts)
    if tee:
        local_ranks, rests = _strip_tee(rests)
    heads = _usual(rests, local_ranks, clock)
    for number, body in enumerate(heads.body):
        if body[:1] in _MORE or "%|" in body:
            _finish(heads, number, clock, tee)
    for number, task in tasks.items():
        if heads.rank[number] is None and heads.local_rank[number] is None:
            heads.rank[number] = task
    return heads


def _usual(rests: Sequence[str], local_ranks: list[int | None], clock: Clock) -> Headers:
    """What the usual shapes say, in one go over all lines."""
    found = _USUAL.findall("\n".join(rests)) if rests else []
    return Headers(
        time_ns=[clock.iso(row[1], row[2], row[3]) if row[1] else None for row in found],
        level=[LEVELS.get(row[4]) for row in found],
        rank=[int(outer or inner) if outer or inner else None for outer, *_, inner, _ in found],
        local_rank=local_ranks,
        body=[row[6] for row in found],
    )


def _strip_tasks(texts: Sequence[str]) -> tuple[dict[int, int], list[str]]:
    tasks: dict[int, int] = {}
    rests = list(texts)
    for number, text in enumerate(texts):
        found = _TASK.match(text)
        if found is not None:
            tasks[number] = int(found[1])
            rests[number] = text[found.end() :]
    return tasks, rests


def _strip_tee(texts: Sequence[str]) -> tuple[list[int | None], list[str]]:
    local_ranks: list[int | None] = []
    rests = []
    for text in texts:
        found = _TEE.match(text) or _TASK.match(text)
        local_ranks.append(int(found[1]) if found is not None else None)
        rests.append(text[found.end() :] if found is not None else text)
    return local_ranks, rests


def _finish(heads: Headers, number: int, clock: Clock, tee: bool) -> None:
    """Take the rarer header parts off one body."""
    text = heads.body[number]
    head = Head(heads.time_ns[number], heads.level[number], heads.rank[number])
    head.local_rank = heads.local_rank[number]
    pos = behind_bar(text)
    for _ in range(_PARTS):
        after = _next_part(text, pos, head, clock)
        if after == pos:
            after = _behind_runtime_stamp(text, pos, head, tee)
        if after == pos:
            after = rare_part(text, pos, head, clock)
        if after == pos:
            break
        pos = after
    if pos:
        heads.body[number] = text[pos:]
        heads.time_ns[number], heads.level[number] = head.time_ns, head.level
        heads.rank[number], heads.local_rank[number] = head.rank, head.local_rank
        if head.label is not None:
            heads.labels[number] = head.label


def _behind_runtime_stamp(text: str, pos: int, head: Head, tee: bool) -> int:
    """Index after a container runtime's `stderr F ` and the tee prefix behind it."""
    if head.time_ns is None:
        return pos
    found = _CRI.match(text, pos)
    if found is None:
        return pos
    teed = _TEE.match(text, found.end()) if tee and head.local_rank is None else None
    if teed is None:
        return found.end()
    head.local_rank = int(teed[1])
    return teed.end()


def _next_part(text: str, pos: int, head: Head, clock: Clock) -> int:
    """Index after the header part that starts at `pos`; `pos` itself if none does."""
    first = text[pos : pos + 1]
    if first == "[":
        if text.startswith("[rank", pos):
            return _rank_prefix(text, pos, head)
        if text[pos + 1 : pos + 2].isdigit():
            return _stamp(text, pos, head, clock)
    elif first.isdigit() or first == " ":
        after = _stamp(text, pos, head, clock)
        if after != pos:
            return after
    return _word_part(text, pos, head, clock)


def _rank_prefix(text: str, pos: int, head: Head) -> int:
    found = _RANK.match(text, pos)
    if found is None:
        return pos
    if head.rank is None:
        head.rank = int(found[1])
    return found.end()


def _stamp(text: str, pos: int, head: Head, clock: Clock) -> int:
    found = _STAMP.match(text, pos)
    if found is None:
        return pos
    if head.time_ns is None:
        head.time_ns = clock.iso(found[1], found[2], found[3])
    return found.end()


def _word_part(text: str, pos: int, head: Head, clock: Clock) -> int:
    if head.level is None:
        found = _LEVEL.match(text, pos)
        if found is not None:
            head.level = LEVELS[found[1]]
            return found.end()
        found = _GLOG.match(text, pos)
        if found is not None:
            head.level = LEVELS[found[1]]
            if head.time_ns is None:
                head.time_ns = clock.glog(found[2], found[3], found[4])
            return found.end()
    found = _NAME.match(text, pos)
    return found.end() if found is not None else pos
