"""Results of link tests as their tools print them: nccl-tests, perftest, or a table of pairs.

nccl-tests name their hosts; one run over two hosts tests that pair, one over a single host the
links inside it. perftest names none: a line `# pair A B` before each output says them. Pure.
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from apps.core.errors import BadPayload
from apps.nodes.domain.links import Matrix

MAX_HOSTS = 1_024
MAX_PAIRS = MAX_HOSTS * MAX_HOSTS
MAX_NAME = 253
MAX_WRONG = 64
"""Pairs with wrong data that are listed; further ones are counted."""
_MAX_LINE = 1_000
_MAX_GBIT_S = 1e12
_HINT = "see docs/triage.md, link tests"
_DEVICE = re.compile(r"^#\s+Rank\s+\d+ .{0,80}?\bon\s+(\S{1,253})\s+device\s+\d+")
_NCCL_TEXT = re.compile(r"^#\s(?:nThread |\s+Rank\s+\d)", re.MULTILINE)
_PAIR = re.compile(r"^#?\s*pair[:\s]\s*(\S{1,253})\s+(\S{1,253})\s*$")
_AVERAGE = re.compile(r"BW average\[(Gb|MB|GB)/sec\]")
_STAMP = re.compile(r"\s+\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d\S*\s*$")
_NUMBER = re.compile(r"\d{1,15}")
_PERFTEST = {"Gb": 1.0, "MB": 8 * 1.048576 / 1000, "GB": 8 * 1.073741824}
"""Gbit/s of one unit: perftest counts megabytes of 2**20 bytes."""
_NCCL = 8.0
_UNITS = {"gbit_s": 1.0, "gbps": 1.0, "gb_s": 8.0, "gbyte_s": 8.0, "mbit_s": 1e-3, "mb_s": 8e-3}
_FROM = ("a", "from", "source", "client", "host1", "src", "host_a")
_TO = ("b", "to", "target", "server", "host2", "dst", "host_b")


@dataclass(frozen=True, slots=True)
class LinkTable:
    """hosts in natural order. matrix: [from, to] in Gbit/s. wrong: pairs that got wrong data.
    left_out: why -> how many."""

    tool: str
    hosts: tuple[str, ...]
    matrix: Matrix
    wrong: tuple[tuple[str, str], ...] = ()
    left_out: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True)
class _Test:
    """One measured pair. each_way: it counts for both directions."""

    a: str
    b: str
    gbit_s: float
    each_way: bool
    wrong: bool = False


def read(body: bytes, pair: tuple[str, str] | None = None) -> LinkTable:
    """The table of a body; BadPayload says what is wrong with it.

    pair: the hosts of the first output, where it does not name them. A pair that was tested twice
    counts as it was tested last.
    """
    text = body.decode("utf-8", "replace").replace("\0", "\ufffd")
    left: Counter[str] = Counter()
    if text.lstrip()[:1] in ("{", "["):
        tool, tests = "nccl-tests", list(_of_nccl_json(text, left))
    elif _NCCL_TEXT.search(text):
        tool, tests = "nccl-tests", list(_of_nccl_text(text, left))
    elif "BW average[" in text:
        tool, tests = "perftest", list(_of_perftest(text, pair, left))
    else:
        tool, tests = "table", list(_of_table(text))
    return _table(tool, tests, left)


def _table(tool: str, tests: Sequence[_Test], left: Counter[str]) -> LinkTable:
    if not tests:
        why = ", ".join(f"{count} {name}" for name, count in left.items())
        raise BadPayload(f"no tested pair was found{f' ({why})' if why else ''}", hint=_HINT)
    hosts = sorted({name for test in tests for name in (test.a, test.b)}, key=_natural)
    if len(hosts) > MAX_HOSTS:
        raise BadPayload(f"{len(hosts):,} hosts, at most {MAX_HOSTS:,} fit into one test")
    at = {name: place for place, name in enumerate(hosts)}
    matrix = np.full((len(hosts), len(hosts)), np.nan)
    for test in tests:
        matrix[at[test.a], at[test.b]] = test.gbit_s
        if test.each_way:
            matrix[at[test.b], at[test.a]] = test.gbit_s
    wrong = tuple({(test.a, test.b): None for test in tests if test.wrong})
    left["further pairs that got wrong data"] += len(wrong[MAX_WRONG:])
    return LinkTable(tool, tuple(hosts), matrix, wrong[:MAX_WRONG], dict(+left))


def _natural(name: str) -> list[tuple[bool, int, str]]:
    """gpu-2 before gpu-10."""
    parts = re.split(r"(\d{1,18})", name)
    return [(part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in parts]


def is_name(name: str) -> bool:
    """Whether a host can be called that."""
    return 0 < len(name) <= MAX_NAME and name.isprintable()


# -- nccl-tests -------------------------------------------------------------------------------


def _of_nccl_text(text: str, left: Counter[str]) -> Iterator[_Test]:
    """Several outputs may follow each other: each begins with the list of its devices."""
    hosts: dict[str, None] = {}
    best: tuple[int, float] | None = None
    wrong = False
    for line in text.splitlines():
        device = _DEVICE.match(line)
        if line.startswith("# nThread") or (device and best is not None):
            yield from _group(hosts, best, wrong, left)
            hosts, best, wrong = {}, None, False
        if device:
            hosts[device[1]] = None
        elif (row := _nccl_row(line)) is not None:
            best = max(best or (0, 0.0), row[:2])
            wrong = wrong or row[2]
    yield from _group(hosts, best, wrong, left)


def _nccl_row(line: str) -> tuple[int, float, bool] | None:
    """(size, bus bandwidth in GB/s, wrong data) of a line of results, None for any other line.

    The last eight columns are time, algbw, busbw and wrong, out of place and in place; before them
    stand 4 columns, or 5 in newer versions.
    """
    if len(line) > _MAX_LINE:
        return None
    words = _STAMP.sub("", line).split()
    if not 12 <= len(words) <= 13 or not _NUMBER.fullmatch(words[0]):
        return None
    bandwidth = _real(words[-6])
    if bandwidth is None:
        return None
    wrong = any((_real(word) or 0) > 0 for word in (words[-5], words[-1]))
    # Versions before 2.13 print the largest deviation there, which is not zero for floats.
    return int(words[0]), bandwidth, wrong and len(words) == 13


def _of_nccl_json(text: str, left: Counter[str]) -> Iterator[_Test]:
    """Files of `-J`: one object, a list of them, or one a line."""
    for report in _objects(text):
        config = report.get("config")
        hosts = _hosts(_of(config, "devices") or report.get("devices"))
        results = report.get("results")
        best, wrong = None, False
        for row in results if isinstance(results, list) else []:
            size = _real(_of(row, "size"))
            told = _of(row, "out_of_place") or _of(row, "in_place")
            bandwidth = _real(_of(told, "bus_bw"))
            if size is not None and bandwidth is not None:
                best = max(best or (0, 0.0), (int(size), bandwidth))
            ways = (_of(_of(row, way), "nwrong") for way in ("out_of_place", "in_place"))
            wrong = wrong or any((_real(count) or 0) > 0 for count in ways)
        yield from _group(hosts, best, wrong, left)


def _hosts(devices: Any) -> dict[str, None]:
    """The hosts of a list of devices, in its order."""
    listed = devices if isinstance(devices, list) else []
    names = [_of(device, "hostname") or _of(device, "host") for device in listed]
    return {name: None for name in names if isinstance(name, str) and is_name(name)}


def _of(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None


def _objects(text: str) -> Iterator[dict[str, Any]]:
    try:
        whole = json.loads(text)
    except ValueError:
        whole = [_line(number, line) for number, line in enumerate(text.splitlines(), 1) if line]
    except RecursionError:
        raise BadPayload("the JSON is nested too deeply", hint=_HINT) from None
    for one in whole if isinstance(whole, list) else [whole]:
        if isinstance(one, dict):
            yield one


def _line(number: int, line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        raise BadPayload("this is no JSON", where=f"line {number}", hint=_HINT) from None


def _group(
    hosts: Iterable[str], best: tuple[int, float] | None, wrong: bool, left: Counter[str]
) -> Iterator[_Test]:
    names = list(hosts)
    if best is None:
        left["outputs without a result"] += bool(names)
    elif not names:
        left["outputs that name no host"] += 1
    elif len(names) > 2:
        left["tests of more than two hosts"] += 1
    else:
        yield _Test(names[0], names[-1], best[1] * _NCCL, each_way=True, wrong=wrong)


# -- perftest ---------------------------------------------------------------------------------


def _of_perftest(text: str, pair: tuple[str, str] | None, left: Counter[str]) -> Iterator[_Test]:
    """The largest message of each output counts. `BW average`: with -D the peak is 0."""
    unit: float | None = None
    best: tuple[int, float] | None = None
    for line in text.splitlines():
        if named := _PAIR.match(line):
            yield from _pair(pair, best, left)
            pair, unit, best = (named[1], named[2]), None, None
        elif head := _AVERAGE.search(line):
            unit = _PERFTEST[head[1]]
        elif unit is not None:
            words = line.split()
            average = _real(words[3]) if len(words) >= 4 and _NUMBER.fullmatch(words[0]) else None
            if average is not None:
                best = max(best or (0, 0.0), (int(words[0]), average * unit))
    yield from _pair(pair, best, left)


def _pair(
    pair: tuple[str, str] | None, best: tuple[int, float] | None, left: Counter[str]
) -> Iterator[_Test]:
    if pair is None:
        left["outputs that name no host"] += best is not None
    else:
        yield _Test(
            pair[0][:MAX_NAME], pair[1][:MAX_NAME], best[1] if best else 0.0, each_way=False
        )


# -- tables -----------------------------------------------------------------------------------


def _of_table(text: str) -> Iterator[_Test]:
    """CSV: two columns of hosts and one of bandwidths, whose name says the unit."""
    rows = _rows_of(text)
    head = [name.strip().lower() for name in next(rows, [])]
    a, b = _column(head, _FROM), _column(head, _TO)
    value = _column(head, tuple(_UNITS))
    if a is None or b is None or value is None:
        raise BadPayload(
            "this is no output of nccl-tests or perftest, and no table of pairs",
            where="line 1",
            hint=f"a table begins with columns like a,b,gbit_s; units are {', '.join(_UNITS)}",
        )
    factor = _UNITS[head[value]]
    for number, row in enumerate(rows, 2):
        if row:
            yield _row(row, (a, b, value), factor, number)


def _rows_of(text: str) -> Iterator[list[str]]:
    try:
        yield from csv.reader(text.splitlines())
    except csv.Error as error:
        raise BadPayload(f"this is no CSV: {error}", hint=_HINT) from error


def _row(row: list[str], columns: tuple[int, int, int], factor: float, number: int) -> _Test:
    if number > MAX_PAIRS:
        raise BadPayload(f"at most {MAX_PAIRS:,} pairs fit into one test")
    cells = [row[at].strip() if at < len(row) else "" for at in columns]
    bandwidth = 0.0 if cells[2].lower() in ("failed", "error", "timeout") else _real(cells[2])
    names = cells[:2]
    if bandwidth is None or not all(map(is_name, names)):
        hint = 'two hosts and a bandwidth, or "failed"'
        raise BadPayload("this row is no pair", where=f"line {number}", hint=hint)
    return _Test(names[0], names[1], bandwidth * factor, each_way=False)


def _column(head: list[str], names: tuple[str, ...]) -> int | None:
    return next((head.index(name) for name in names if name in head), None)


def _real(value: Any) -> float | None:
    """A number from 0 on, of a size that a bandwidth can have."""
    try:
        known = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return known if 0 <= known <= _MAX_GBIT_S else None
