"""What `nvidia-smi` prints: `--query-gpu=... --format=csv`, `-q -d PAGE_RETIREMENT`, `nvlink -s`.

Plain Python. How the GPUs of one node stand; times have no zone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

from apps.core.errors import BadPayload
from apps.ingest.exposition import meaning
from apps.ingest.nodes.parse import SMALLER, NodeBatch, Sender, clean
from apps.nodes.domain.conditions import Look, Reading
from apps.nodes.domain.kernel import pci

SOURCE = "nvidia-smi"
MAX_LINES, MAX_GPUS = 20_000, 1_024
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_GPU = re.compile(r"GPU (?P<number>\d{1,4}): .{0,120}?\(UUID: (?P<uuid>GPU-[\w-]{1,60})\)")
_LINK = re.compile(r"\s+Link (?P<number>\d{1,3}): (?P<said>.{1,80})")
_NO_LINKS = re.compile(r"all links are inactive", re.IGNORECASE)
_BUS = re.compile(r"GPU (?P<bus>[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-9a-fA-F])\s*$")
_FIELD = re.compile(r"\s*(?P<name>[A-Za-z][\w .()]{0,60}?)\s*: (?P<value>.{0,200})")
_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,6})?")
_HEX = re.compile(r"0x[0-9a-fA-F]{1,16}")
_LOST = ("requires reset", "is lost", "unknown error")
MAX_PAGES: Final = 60
"""Retired pages from which on NVIDIA replaces a board (Dynamic Page Retirement, RMA policy)."""


def parse(body: bytes, sender: Sender) -> NodeBatch:
    """How each GPU stands. BadPayload for other outputs of nvidia-smi, or without a node."""
    node = sender.named()
    lines = body.decode("utf-8", "replace").replace("\0", "\ufffd").splitlines()
    if len(lines) > MAX_LINES:
        raise BadPayload(f"more than {MAX_LINES} lines", where="body", hint=SMALLER)
    full = [line for line in lines if line.strip()]
    if full and "," in full[0] and "index" in full[0]:
        found, unread = _table(full)
    elif any(_BUS.match(line) for line in full):
        found, unread = list(_retired(full)), 0
    elif any(_GPU.match(line) for line in full):
        found, unread = list(_links(full)), 0
    else:
        raise BadPayload(
            "no output of nvidia-smi that is known", where="body",
            hint="send --query-gpu=index,... --format=csv, -q -d PAGE_RETIREMENT or nvlink -s",
        )  # fmt: skip
    at_ns = _stamp(full, sender)
    look = Look(SOURCE, node, at_ns, tuple(found[: 8 * MAX_GPUS]))
    return NodeBatch((), {"nvidia_smi_lines_unread": unread}, (look,) if found else ())


def _reading(name: str, kind: str, level: str, words: str, device: str) -> Reading:
    return Reading(clean(f"{name} {device}", 128), kind, level, words, clean(device, 128))


def _table(lines: list[str]) -> tuple[list[Reading], int]:
    names = [cell.strip().partition(" [")[0] for cell in lines[0].split(",")]
    found: list[Reading] = []
    unread = 0
    for line in lines[1 : MAX_GPUS + 1]:
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) != len(names):
            unread += 1
        else:
            found.extend(_row(dict(zip(names, cells, strict=True))))
    return found, unread + max(0, len(lines) - 1 - MAX_GPUS)


def _row(row: Mapping[str, str]) -> Iterator[Reading]:
    number = row.get("index", "?")
    device = f"GPU {number}"
    lost = any(word in " ".join(row.values()).lower() for word in _LOST)
    yield _reading("reset", "gpu", "critical" if lost else "", _NO_ANSWER, device)
    for name, metric in _AS_METRIC.items():
        value = _number(row.get(name, ""))
        for watched in meaning.WATCHED[metric] if value is not None else ():
            yield meaning.reading(metric, watched, {"gpu": number}, value or 0.0)
    for name, (level, words) in _REMAP.items():
        if said := row.get(name):
            yield _reading(name, "ecc", level if said == "Yes" else "", words, device)


_NO_ANSWER: Final = "the GPU does not answer, it must be reset"
_REMAP: Final = {
    "remapped_rows.pending": ("warning", "a row of memory waits to be remapped: reset the GPU"),
    "remapped_rows.failure": ("critical", "a row of memory could not be remapped: replace the GPU"),
}
_AS_METRIC: Final = {
    "temperature.gpu": "DCGM_FI_DEV_GPU_TEMP",
    "temperature.memory": "DCGM_FI_DEV_MEMORY_TEMP",
    "clocks_event_reasons.active": "DCGM_FI_DEV_CLOCKS_EVENT_REASONS",
    "clocks_throttle_reasons.active": "DCGM_FI_DEV_CLOCKS_EVENT_REASONS",
    "ecc.errors.uncorrected.volatile.total": "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL",
}
"""Columns that mean the same as a metric of dcgm-exporter."""


def _number(text: str) -> float | None:
    if _HEX.fullmatch(text):
        return float(int(text, 16))
    found = _NUMBER.match(text)
    return float(found[0]) if found else None


def _retired(lines: list[str]) -> Iterator[Reading]:
    device, pages = "", 0
    for line in lines:
        if bus := _BUS.match(line):
            device, pages = pci(bus["bus"]), 0
        elif (said := _FIELD.match(line)) and device:
            if said["name"] in ("Single Bit ECC", "Double Bit ECC"):
                pages += int(_number(said["value"]) or 0)
            elif said["name"].startswith("Pending Page"):
                waits = "warning" if said["value"].strip() == "Yes" else ""
                many = "error" if pages >= MAX_PAGES else ""
                yield _reading("pending pages", "ecc", waits, _PENDING, device)
                yield _reading("retired pages", "ecc", many, _RETIRED, device)


_PENDING: Final = "pages of memory wait to be retired: reset the GPU"
_RETIRED: Final = f"{MAX_PAGES} pages of memory or more are retired: replace the GPU"


def _links(lines: list[str]) -> Iterator[Reading]:
    device = ""
    down: dict[str, list[str]] = {}
    for line in lines:
        if found := _GPU.match(line):
            device = found["uuid"]
            down[device] = []
        elif device and _NO_LINKS.search(line):
            down[device].append("all links")
        elif (link := _LINK.match(line)) and device and "inactive" in link["said"].lower():
            down[device].append(f"link {link['number']}")
    for device, links in list(down.items())[:MAX_GPUS]:
        words = f"NVLink is inactive: {', '.join(links[:20])}"
        yield _reading("nvlink", "nvlink", "error" if links else "", words, device)


def _stamp(lines: list[str], sender: Sender) -> int:
    """When it was printed, if it says so in a form that is known; else when it came."""
    for line in lines[:5]:
        for text, form in (
            (line.partition(",")[0], "%Y/%m/%d %H:%M:%S.%f"),
            (line.partition(" : ")[2], "%a %b %d %H:%M:%S %Y"),
        ):
            try:
                moment = datetime.strptime(text.strip(), form).replace(tzinfo=UTC)
            except ValueError:
                continue
            at_ns = (moment - _EPOCH) // timedelta(microseconds=1) * 1_000
            return min(max(0, at_ns - sender.offset_s * 1_000_000_000), 2**62)
    return sender.received_ns
