"""Rows of JSON-lines files, CSV files and HF `trainer_state.json` -> metric rows. Plain Python."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Final, Literal

import msgspec

from apps.core.errors import BadPayload
from apps.core.records import MetricRow
from apps.ingest import frames
from apps.ingest.pieces import PieceHeader, open_pieces
from apps.ingest.wandb.values import Numbers, decode_all, iso_ns, step_of

MAX_KEY_CHARS = 400
STEP_KEYS: Final = (
    "step",
    "_step",
    "global_step",
    "trainer/global_step",
    "iteration",
    "iter",
    "update",
    "num_updates",
    "train_step",
    "steps",
)
TIME_KEYS: Final = ("_timestamp", "timestamp", "time", "wall_time", "ts", "time_ns", "datetime")
_SUMMARY_KEYS = frozenset({"train_runtime", "train_samples_per_second", "total_flos"})
_EVALUATION = re.compile(
    r"(?:^|[/_. -])(?:val|valid|validation|eval|evaluation|test|dev)(?:$|[/_. -])"
)
# Seconds, milliseconds, microseconds or nanoseconds since 1970, of the years 2001 to 2255.
_UNITS: Final = (
    (1e9, 9e9, 1_000_000_000),
    (1e12, 9e12, 1_000_000),
    (1e15, 9e15, 1_000),
    (1e18, 9e18, 1),
)


class RowsHeader(PieceHeader, frozen=True):
    """seen_ns: the agent's clock when it read the rows, or the time of the file's last change.

    columns: the header line of a CSV file. live: the rows were read as they were written, and
    are no backlog.
    """

    format: Literal["jsonl", "csv", "trainer_state"] = "jsonl"
    seen_ns: frames.Whole = 0
    columns: Annotated[str, msgspec.Meta(max_length=1 << 20)] = ""
    live: bool = False


@dataclass(frozen=True, slots=True)
class RowsBody:
    """A posted body, opened. records: one row each, as it stands in the file."""

    header: RowsHeader
    records: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class ReadRow:
    """A row. timed: it says its own time. evaluation: all its names speak of an evaluation, which
    may lag behind the training."""

    row: MetricRow
    timed: bool
    evaluation: bool


def parse_body(body: bytes) -> RowsBody:
    """Open a body; BadPayload names the field at fault."""
    opened = RowsBody(*open_pieces(body, RowsHeader))
    if opened.header.format == "csv" and not opened.header.columns:
        raise BadPayload("a CSV file has column names", where="header.columns")
    for record in opened.records:
        frames.weigh(record)
    return opened


def content(body: RowsBody, number: int) -> bytes:
    """What the row of a number (in the part) says, the same for every way it may be written."""
    record = body.records[number - body.header.first]
    if body.header.format == "csv":
        return csv_content(body.header.columns, record).encode("utf-8", "replace")
    return record.rstrip()


def decode(body: RowsBody, numbers_of: Iterable[int], numbers: Numbers) -> list[ReadRow]:
    """The rows with these numbers (in the part) that have a step; the rest is counted.

    A row without a time gets seen_ns plus its number in nanoseconds, so that the order of the file
    stays. numbers.skipped counts values and rows that are left out, by kind.
    """
    header, wanted = body.header, list(numbers_of)
    records = [body.records[number - header.first] for number in wanted]
    said = _csv_rows(header.columns, records) if header.format == "csv" else _json_rows(records)
    found = []
    for number, values in zip(wanted, said, strict=True):
        if values is None:
            numbers.skipped["unread row"] += 1
        elif header.format == "trainer_state" and _SUMMARY_KEYS & values.keys():
            numbers.skipped["run summary"] += 1
        elif values and (row := _row(values, header, number, numbers)) is not None:
            found.append(row)
    return found


def first_time_ns(record: bytes) -> int | None:
    """The time that the row of a JSON-lines file says, None if it says none."""
    (values,) = _json_rows([record])
    return _time(values) if values else None


def _json_rows(records: Sequence[bytes]) -> list[Mapping[str, Any] | None]:
    """The objects; {} for an empty line, None for what is no object."""
    found = decode_all([record if record.strip() else b"{}" for record in records])
    return [value if isinstance(value, dict) else None for value in found]


def _csv_rows(columns: str, records: Sequence[bytes]) -> list[Mapping[str, Any] | None]:
    """column -> cell, numbers read. None for a row that cannot be read."""
    rows: list[Mapping[str, Any] | None] = []
    for record in records:
        try:
            rows.append({k: _number(v) for k, v in csv_cells(columns, record).items()})
        except BadPayload:
            rows.append(None)
    return rows


def csv_cells(columns: str, record: bytes) -> dict[str, str]:
    """column -> cell of one CSV row, without the empty ones. columns: the header line.

    BadPayload for a row that is no CSV or has more cells than there are columns.
    """
    names = _names(columns)
    cells = _cells(record.decode("utf-8", "replace").replace("\0", "\ufffd"))
    if len(cells) > len(names):
        raise BadPayload(f"{len(cells)} cells under {len(names)} columns", where="row")
    return {name: cell for name, cell in zip(names, cells, strict=False) if name and cell}


def csv_content(columns: str, record: bytes) -> str:
    """What a CSV row says, by its columns: the same after columns were added."""
    try:
        cells = csv_cells(columns, record)
    except BadPayload:
        return record.decode("utf-8", "replace")
    return "\x1f".join(f"{name}={cell}" for name, cell in sorted(cells.items()))


@lru_cache(maxsize=64)
def _names(columns: str) -> list[str]:
    return _cells(columns)


def _cells(line: str) -> list[str]:
    """The cells of a line of CSV; BadPayload for what is none."""
    try:
        return next(csv.reader([line]), [])
    except csv.Error as error:
        raise BadPayload(f"not CSV: {error}", where="row") from error


def _number(cell: str) -> float | int | str:
    try:
        return int(cell) if cell.isdecimal() and len(cell) < 19 else float(cell)
    except ValueError:
        return cell


def _row(
    found: Mapping[str, Any], header: RowsHeader, number: int, numbers: Numbers
) -> ReadRow | None:
    step_key = next((key for key in STEP_KEYS if step_of(found.get(key)) is not None), None)
    if step_key is None:
        numbers.skipped["row without a step"] += 1
        return None
    said_ns = _time(found)
    own = {step_key, *(TIME_KEYS if said_ns is not None else ())}
    values = dict[str, float]()
    for key, value in found.items():
        if key not in own and value is not None:
            _add(values, key, value, numbers)
    time_ns = (said_ns or header.seen_ns + number) + header.time_shift_ns
    step = step_of(found[step_key]) or 0
    evaluation = bool(values) and all(_EVALUATION.search(key) for key in values if key != "epoch")
    return ReadRow(MetricRow(step, time_ns, values), said_ns is not None, evaluation)


def _add(values: dict[str, float], key: str, value: Any, numbers: Numbers) -> None:
    name = key.replace("\0", "\ufffd").encode("utf-8", "replace").decode()
    if not name or len(name) > MAX_KEY_CHARS:
        numbers.skipped["long or empty name"] += 1
    else:
        numbers.add(values, name, value)


def _time(found: Mapping[str, Any]) -> int | None:
    """Unix nanoseconds of the first field that can only be a time."""
    for key in TIME_KEYS:
        value = found.get(key)
        stamp = _unix_ns(iso_ns(value) if isinstance(value, str) else value)
        if stamp is not None:
            return stamp
    return None


def _unix_ns(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    for low, high, unit in _UNITS:
        if low <= value < high:
            whole = int(value)
            return whole * unit + round((value - whole) * unit)
    return None
