"""Lines inside other lines: containers' logs, the journal, and logs written as JSON.

CRI files (`2026-11-29T19:46:03.1Z stderr F text`; `P`: the line goes on), Docker's JSON files,
`journalctl -o json`, and one JSON object a line as structlog, python-json-logger, Ray, loguru,
zap and pino write it. Plain Python; what is not understood stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

import orjson

from apps.core.records import Severity
from apps.logs.domain.reading.headers import NS, Clock, Headers
from apps.logs.domain.reading.pieces import MAX_LINE_BYTES, RawLines
from apps.logs.domain.reading.prefixes import LEVELS, kernel_level

T = TypeVar("T")
MAX_INNER_LINES = 1_000
MAX_RANK = 10**7
_CRI = re.compile(
    r"(\d{4}-\d\d-\d\dT[\d:]{8}(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d) (stdout|stderr) )([FP])(?::\w*)? "
)
_STAMP = re.compile(
    r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)(?:[.,](\d{1,9})\d*)? ?(Z|[+-]\d\d:?\d\d|UTC)?$"
)
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_TIMES: Final = ("time", "timestamp", "ts", "@timestamp", "asctime", "datetime", "created", "t")
_LEVELS: Final = ("level", "levelname", "severity", "lvl", "log_level", "log.level")
_MESSAGES: Final = ("message", "msg", "event", "body", "text")
_RANKS: Final = ("rank", "global_rank", "RANK")
_LOCAL_RANKS: Final = ("local_rank", "LOCAL_RANK")
_TRACES: Final = (
    "exc_info", "exc_text", "exception", "traceback", "stack", "stack_info", "stacktrace",
    "stack_trace",
)  # fmt: skip
_PINO: Final = (
    (60, Severity.CRITICAL),
    (50, Severity.ERROR),
    (40, Severity.WARNING),
    (30, Severity.INFO),
    (0, Severity.DEBUG),
)
_SCALES: Final = (NS, 10**6, 1000, 1)
_SYSLOG: Final = {3: Severity.ERROR, 4: Severity.WARNING, 7: Severity.DEBUG}


@dataclass(frozen=True, slots=True)
class Inner:
    """What a line holds. texts: its lines, at least one. The rest is None where nothing is said.

    at: characters of the first text that say who wrote it. invalid_bytes: of a message that is no
    UTF-8.
    """

    texts: tuple[str, ...]
    time_ns: int | None = None
    level: int | None = None
    rank: int | None = None
    local_rank: int | None = None
    at: int = 0
    invalid_bytes: int = 0


def may_hold(data: bytes) -> bool:
    """Whether some line of these bytes may be one that `Envelopes` opens; about 0.1 ms a MB."""
    return b'{"' in data or b'{ "' in data or b" P " in data


class Envelopes:
    """Opens the lines of one file. parts: stream -> beginning of a line that goes on."""

    def __init__(self, parts: Mapping[str, str], clock: Clock) -> None:
        self.parts = dict(parts)
        self._clock = clock

    def open(self, text: str) -> Inner | None:
        """What a line holds; None for a plain one.

        Of a line in parts, the last has the whole text and the others are empty.
        """
        if text[:1] == "{" and text[-1:] == "}":
            return self._json(text)
        found = _CRI.match(text)
        if found is None:
            return None
        stream, tag = found[2], found[3]
        if tag == "F" and stream not in self.parts:
            return None
        whole = self._joined(stream, text[found.end() :], more=tag == "P")
        return Inner((found[1] + "F " + whole if whole else "",))

    def _joined(self, stream: str, text: str, *, more: bool) -> str:
        """The line so far if it ends here, or if it is as long as a line may be."""
        whole = self.parts.pop(stream, "") + text
        if not more:
            return whole
        if len(whole) + len(text) <= MAX_LINE_BYTES:
            self.parts[stream] = whole
            return ""
        self.parts[stream] = "[next piece of a line] "
        return whole

    def _json(self, text: str) -> Inner | None:
        try:
            said = orjson.loads(text)
        except orjson.JSONDecodeError:
            return None
        if not isinstance(said, dict):
            return None
        if isinstance(said.get("log"), str) and "stream" in said:
            return self._docker(said)
        if "__REALTIME_TIMESTAMP" in said:
            return _journal(said)
        if isinstance(said.get("message"), dict) and len(said) == 1:
            return _error_file(said["message"])
        return _record(said, text, self._clock)

    def _docker(self, said: Mapping[str, Any]) -> Inner:
        text = said["log"]
        whole = self._joined(f"docker {said['stream']}", text, more=not text.endswith("\n"))
        return Inner(_lines(whole), _time(said.get("time"), self._clock))


@dataclass(slots=True)
class Opened:
    """Lines after opening. said: what the envelope of a line says; the other fields as in
    RawLines: a line that held several has its bytes at the first, but one for each other."""

    texts: list[str]
    places: list[int]
    number: dict[int, int]
    said: dict[int, Inner]

    def messages(self) -> list[str]:
        """The texts for the reader of headers, without what stands outside of them; a piece that
        is not the first of its line says nothing."""
        if not self.number and not self.said:
            return self.texts
        found = list(self.texts)
        for number, said in self.said.items():
            if said.at:
                found[number] = found[number][said.at :]
        for number in self.number:
            found[number] = ""
        return found

    def add(self, text: str, place: int, said: Inner | None = None) -> None:
        """One more line."""
        if said is not None:
            self.said[len(self.texts)] = said
        self.texts.append(text)
        self.places.append(place)


def open_all(texts: Sequence[str], raw: RawLines, envelopes: Envelopes) -> Opened:
    """All lines of a segment, those inside others in place of these."""
    found = Opened([], [], {}, {})
    for index, (text, place) in enumerate(zip(texts, raw.places, strict=True)):
        if index in raw.number:
            found.number[len(found.texts)] = raw.number[index]
        inner = None if index in raw.number else envelopes.open(text)
        if inner is None:
            found.add(text, place)
            continue
        first, *rest = inner.texts
        found.add(_clean(first), place, inner)
        for number, line in enumerate(rest, 1):
            found.add(
                _clean(line), place + number, replace(inner, level=None, at=0, invalid_bytes=0)
            )
    return found


def say(opened: Opened, heads: Headers) -> None:
    """What an envelope says of a line counts more than the text; a rank in the text more."""
    for number, said in opened.said.items():
        if said.time_ns is not None:
            heads.time_ns[number] = said.time_ns
        if said.level is not None:
            heads.level[number] = said.level
        if heads.rank[number] is None:
            heads.rank[number] = said.rank
        if heads.local_rank[number] is None:
            heads.local_rank[number] = said.local_rank


def _clean(text: str) -> str:
    """Last frame, no colours, no NUL, as of a line outside."""
    if "\r" in text:
        text = text.rstrip("\r").rpartition("\r")[2]
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    return text.replace("\0", "\u2400")


def _journal(said: Mapping[str, Any]) -> Inner:
    """An entry of the journal. A message that is no UTF-8 comes as a list of bytes."""
    message, invalid = said.get("MESSAGE"), 0
    if isinstance(message, list):
        message, invalid = _of_bytes(message)
    name = said.get("SYSLOG_IDENTIFIER") or said.get("_COMM") or ""
    pid = f"[{said['_PID']}]" if "_PID" in said else ""
    first, *rest = _lines(message) if isinstance(message, str) else ("",)
    stamp, priority = str(said["__REALTIME_TIMESTAMP"]), str(said.get("PRIORITY", ""))
    level = None
    if priority.isdigit():
        kernel = said.get("_TRANSPORT") == "kernel" or int(priority) < 3
        level = kernel_level(int(priority)) if kernel else _SYSLOG.get(int(priority))
    micros = int(stamp) if stamp.isdigit() and len(stamp) < 18 else None
    writer = f"{name}{pid}: " if name else ""
    return Inner(
        (writer + first, *rest),
        None if micros is None else micros * 1000,
        level,
        at=len(writer),
        invalid_bytes=invalid,
    )


def _of_bytes(values: list[Any]) -> tuple[str, int]:
    raw = bytes(v for v in values if isinstance(v, int) and 0 <= v < 256)
    text = raw.decode("utf-8", "replace")
    return text, len(raw) - len(text.replace("\ufffd", "").encode())


def _record(said: dict[str, Any], raw: str, clock: Clock) -> Inner | None:
    """A record of a logger; None if it says nothing that a plain line would not."""
    if isinstance(said.get("record"), dict) and isinstance(said.get("text"), str):
        return _loguru(said["text"], said["record"], clock)
    rest = dict(said)
    time_ns = _take(rest, _TIMES, lambda value: _time(value, clock))
    level = _take(rest, _LEVELS, _level)
    rank = _take(rest, _RANKS, _rank)
    local_rank = _take(rest, _LOCAL_RANKS, _rank)
    if time_ns is None and level is None and rank is None:
        return None
    message = _take(rest, _MESSAGES, lambda value: value if isinstance(value, str) else None)
    if message is None:
        return Inner((raw,), time_ns, level, rank, local_rank)
    trace = _take(rest, _TRACES, lambda value: value if isinstance(value, str) else None)
    first, *more = _lines(message)
    texts = (_with_fields(first, rest), *more, *(_lines(trace) if trace else ()))
    return Inner(texts[:MAX_INNER_LINES], time_ns, level, rank, local_rank)


def _error_file(said: Mapping[str, Any]) -> Inner | None:
    """What torchelastic writes when a worker raises: the traceback, else the message.

    It says the second in which that was; the end of it is taken, so that it is not before what the
    rank itself printed of it, with a finer clock.
    """
    message, extra = said.get("message"), said.get("extraInfo")
    if not isinstance(message, str) or not isinstance(extra, dict):
        return None
    stack, stamp = extra.get("py_callstack"), str(extra.get("timestamp", ""))
    known = stamp.isdecimal() and len(stamp) < 11
    time_ns = (int(stamp) + 1) * NS - 1 if known else None
    text = stack if isinstance(stack, str) and stack.strip() else message
    return Inner(_lines(text)[:MAX_INNER_LINES], time_ns, Severity.ERROR)


def _loguru(text: str, record: Mapping[str, Any], clock: Clock) -> Inner:
    moment, level = record.get("time"), record.get("level")
    stamp = moment.get("timestamp") if isinstance(moment, dict) else None
    name = level.get("name") if isinstance(level, dict) else None
    return Inner(_lines(text)[:MAX_INNER_LINES], _time(stamp, clock), _level(name))


def _take(
    rest: dict[str, Any], names: tuple[str, ...], read: Callable[[Any], T | None]
) -> T | None:
    """The first of these fields that can be read; it is taken out."""
    for name in names:
        if name in rest:
            value = read(rest[name])
            if value is not None:
                del rest[name]
                return value
    return None


def _with_fields(message: str, rest: Mapping[str, Any]) -> str:
    """The message and what else the record says, as `step 7 loss=2.5`."""
    said = {name: value for name, value in rest.items() if value not in (None, "")}
    step = said.pop("step", None)
    words = [message] if message else []
    if step is not None:
        words.append(f"step {_word(step)}")
    return " ".join([*words, *(f"{name}={_word(value)}" for name, value in said.items())])


def _word(value: Any) -> str:
    if isinstance(value, str) and " " not in value and "\n" not in value:
        return value
    return orjson.dumps(value).decode()


def _lines(text: str) -> tuple[str, ...]:
    return tuple(text.removesuffix("\n").split("\n")[:MAX_INNER_LINES])


def _time(value: Any, clock: Clock) -> int | None:
    """Unix ns of a date, or of seconds, ms, us or ns since 1970 (told by their size: 2001 on)."""
    if isinstance(value, str):
        found = _STAMP.match(value)
        if found is None:
            return None
        return clock.iso(found[1], found[2], "Z" if found[3] == "UTC" else found[3])
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    scale = next((each for each in _SCALES if 10**18 <= value * each < 5 * 10**18), 0)
    if not scale:
        return None
    whole = int(value)
    return whole * scale + round((value - whole) * scale)


def _level(value: Any) -> int | None:
    if isinstance(value, str):
        return LEVELS.get(value.upper())
    if isinstance(value, int) and not isinstance(value, bool) and value % 10 == 0:
        return next((level for least, level in _PINO if value >= least), None)
    return None


def _rank(value: Any) -> int | None:
    if isinstance(value, str) and value.isdecimal() and len(value) < 8:
        return int(value)
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and 0 <= value < MAX_RANK else None
