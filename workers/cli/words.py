"""Lines and what is said about them, as a terminal shows them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

_COLOURS = {
    "warning": "\x1b[33m",
    "error": "\x1b[31m",
    "critical": "\x1b[1;31m",
    "debug": "\x1b[2m",
}
_END = "\x1b[0m"
# What a terminal would obey: escape sequences, and everything else that moves its cursor.
_OBEYED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@dataclass(frozen=True, slots=True)
class Style:
    """json: one object a line. colour: by level."""

    json: bool = False
    colour: bool = False


def line(record: dict[str, Any], style: Style) -> str:
    """One line: time, rank, node, level, text. Control characters of the text are shown, not
    obeyed: a log may hold what takes over a terminal."""
    if style.json:
        return json.dumps({key: value for key, value in record.items() if key != "kind"})
    rank = "-" if record["rank"] is None else record["rank"]
    moment = record["time"][:23].replace("T", " ")
    text = _OBEYED.sub(lambda found: f"\\x{ord(found[0]):02x}", record["text"])
    level = record["level"].upper()[:4]
    shown = f"{moment} {rank!s:>5} {record['node'] or '-'} {level:<4} {text}"
    colour = _COLOURS.get(record["level"], "") if style.colour else ""
    return f"{colour}{shown}{_END}" if colour else shown


def age(seconds: float) -> str:
    """ "3 s", "14 min", "2 h", "3 d" ago."""
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit} ago"
    return f"{max(0, seconds):.0f} s ago"
