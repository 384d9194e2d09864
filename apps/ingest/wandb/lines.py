"""Bodies of the `wandb` client's file_stream -> numbered lines, and what the lines say. Pure."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from apps.core.errors import BadPayload
from apps.core.records import MetricRow
from apps.ingest import frames
from apps.ingest.wandb.extras import extra_of
from apps.ingest.wandb.parse import ConsoleLine, SystemSample
from apps.ingest.wandb.uniform import uniform_rows
from apps.ingest.wandb.values import (
    LAST_TIME_S,
    Numbers,
    iso_ns,
    loads,
    nanoseconds,
    step_of,
    storable,
)

HISTORY: Final = "wandb-history.jsonl"
EVENTS: Final = "wandb-events.jsonl"
SUMMARY: Final = "wandb-summary.json"
OUTPUT: Final = "output.log"
NUMBERED: Final = (HISTORY, EVENTS, OUTPUT)
_LAST_LINE = 2**53


@dataclass(frozen=True, slots=True)
class Piece:
    """Lines of one file; lines[i] is number offset + i of what its process wrote."""

    file: str
    offset: int
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StreamBatch:
    """One body. exit_code: set when the process says that it is through."""

    pieces: tuple[Piece, ...]
    exit_code: int | None
    preempting: bool


def parse_stream(body: bytes) -> StreamBatch:
    """The pieces of a body; BadPayload naming the field at fault."""
    frames.weigh(body)
    found = loads(body)
    if not isinstance(found, dict):
        raise BadPayload("must be a JSON object", where="body")
    files = found.get("files", {})
    if not isinstance(files, dict):
        raise BadPayload("must be an object", where="files")
    code = found.get("exitcode")
    done = found.get("complete") is True
    return StreamBatch(
        pieces=tuple(_piece(name, piece) for name, piece in files.items()),
        exit_code=int(code) if done and isinstance(code, int) and abs(code) < 2**31 else None,
        preempting=found.get("preempting") is True,
    )


def _piece(name: str, piece: Any) -> Piece:
    where = f"files.{name[:100]}"
    offset = piece.get("offset") if isinstance(piece, dict) else None
    content = piece.get("content") if isinstance(piece, dict) else None
    if type(offset) is not int or not 0 <= offset <= _LAST_LINE:
        raise BadPayload("offset must be a whole number", where=where)
    if not isinstance(content, list) or not all(isinstance(line, str) for line in content):
        raise BadPayload("content must be a list of texts", where=where)
    return Piece(name, offset, tuple(content))


def stamp_ns(line: str) -> int | None:
    """The time a line carries (`_timestamp`), which tells one process's line from another's."""
    found = loads(line)
    return nanoseconds(found.get("_timestamp")) if isinstance(found, dict) else None


def origin_ns(lines: Sequence[str]) -> int | None:
    """When the clock began that the first of the lines with both times counts its `_runtime` from;
    None if no line has both."""
    for line in lines:
        found = loads(line)
        if not isinstance(found, dict):
            continue
        at_ns, since = nanoseconds(found.get("_timestamp")), found.get("_runtime")
        if at_ns is not None and isinstance(since, int | float) and 0 <= since < LAST_TIME_S:
            return at_ns - round(since * 1e6) * 1000
    return None


def history_rows(lines: Sequence[str], now_ns: int, numbers: Numbers) -> Sequence[MetricRow]:
    """One row a line that has a step. What is no number becomes its extra; what cannot be kept
    is counted in numbers.skipped.

    A row without a time gets that of the row before it, the first now_ns.
    """
    uniform = uniform_rows(lines, numbers.names)
    if uniform is not None:
        return uniform
    rows: list[MetricRow] = []
    kept = Numbers(names=numbers.names)
    for line in lines:
        found = loads(line)
        step = step_of(found.pop("_step", None)) if isinstance(found, dict) else None
        if step is None:
            numbers.skipped["row without a step"] += 1
            continue
        before_ns = rows[-1].time_ns if rows else now_ns
        time_ns = nanoseconds(found.get("_timestamp")) or before_ns
        extra = extra_of(found, time_ns, numbers.skipped)
        found.pop("_timestamp", None)
        rows.append(MetricRow(step, time_ns, kept.of(found), extra=extra))
    return rows


def system_samples(lines: Sequence[str], now_ns: int, numbers: Numbers) -> list[SystemSample]:
    """System metrics of each line, keys "system/<name>"."""
    samples = []
    for line in lines:
        found = loads(line)
        if not isinstance(found, dict):
            numbers.skipped["unreadable"] += 1
            continue
        time_ns = nanoseconds(found.get("_timestamp")) or now_ns
        named = numbers.of(found)
        values = {f"system/{key.removeprefix('system.')}": value for key, value in named.items()}
        if values:
            samples.append(SystemSample(time_ns, values))
    return samples


def console_lines(lines: Sequence[str], now_ns: int) -> list[ConsoleLine]:
    """What the process printed. The stamps are UTC, as the client writes them."""
    return [_console_line(line, now_ns) for line in lines]


REWRITABLE: Final = 64
"""So many of the last console lines may still change: a progress bar rewrites what is on screen."""


@dataclass(frozen=True, slots=True)
class Rewritten:
    """indices: of the lines that are stored and say something else now. recent: number, and CRC of
    the text, of the last REWRITABLE lines."""

    indices: tuple[int, ...]
    recent: tuple[tuple[int, int], ...]


def rewritten(piece: Piece, fresh: Collection[int], recent: Mapping[int, int]) -> Rewritten:
    """Which lines of the console have changed since they were stored.

    fresh: indices of those that are not stored yet. recent: as the last call returned it. A line
    further back than REWRITABLE counts as a repeat, whatever it says.
    """
    new, known, changed = set(fresh), dict(recent), []
    first = max([*known, piece.offset + len(piece.lines) - 1]) - REWRITABLE + 1
    for index in range(max(0, first - piece.offset), len(piece.lines)):
        number = piece.offset + index
        code = zlib.crc32(_console_line(piece.lines[index], 0).text.encode("utf-8", "replace"))
        if index not in new and known.get(number, code) != code:
            changed.append(index)
        if index in new or number in known:
            known[number] = code
    kept = sorted(item for item in known.items() if item[0] >= first)
    return Rewritten(tuple(changed), tuple(kept))


def _console_line(line: str, now_ns: int) -> ConsoleLine:
    found = loads(line) if line.startswith("{") else None
    if isinstance(found, dict) and isinstance(found.get("content"), str):
        stream = "stderr" if found.get("level") == "error" else "stdout"
        at_ns, text = iso_ns(str(found.get("ts", ""))), found["content"]
    else:
        stream = "stderr" if line.startswith("ERROR ") else "stdout"
        stamp, _, rest = line.removeprefix("ERROR ").partition(" ")
        at_ns = iso_ns(stamp)
        text = line if at_ns is None else rest
    text = text.rstrip("\r\n").replace("\n", " ").replace("\x00", "\ufffd")
    return ConsoleLine(at_ns or now_ns, stream, text)


def summary_of(lines: Sequence[str]) -> dict[str, Any]:
    """The summary, which always comes whole: strict JSON, without the client's own entries."""
    found = loads(lines[-1]) if lines else None
    return storable(found) if isinstance(found, dict) else {}
