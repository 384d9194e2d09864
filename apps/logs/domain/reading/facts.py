"""What a log message says besides its text: a step, numbers of one rank, where a rank runs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from apps.core.records import LogLine

_STEP = re.compile(r"\biteration +(\d{1,12})\s*/|\bstep\"?(?: *[:=] *| )(\d{1,12})\b(?!\.\d)")
_NON_FINITE = frozenset({"nan", "-nan", "inf", "-inf", "+inf", "infinity", "-infinity"})
_PAIR = re.compile(r"\b(pid|world_size|world|host)=(\S+)")
_PID_DIGITS, _RANK_DIGITS = 18, 7
_MAX_NODE, _MAX_DEVICE = 253, 200
_DEVICE = re.compile(r"\bdevice=(.+)$")
_NO_NUL = "^[^\\x00]*$"
Int4 = Annotated[int, Meta(ge=0, lt=2**31)]


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a rank runs, as it printed itself at its start.

    node: the agent's name of the machine if it gave one, else what the rank printed as host.
    device: the accelerator's name.
    """

    rank: Int4
    node: Annotated[str, Meta(max_length=_MAX_NODE, pattern=_NO_NUL)] | None
    local_rank: Int4 | None
    pid: Annotated[int, Meta(ge=0, lt=2**62)] | None
    world_size: Int4 | None
    device: Annotated[str, Meta(max_length=_MAX_DEVICE, pattern=_NO_NUL)] | None
    time_ns: Annotated[int, Meta(ge=0, le=2**62)]


def step_of(message: str) -> int | None:
    """The step a message speaks of (`iteration 10/ 1500`, `step 710`, `"step": 710`), or None."""
    span = step_span(message)
    return None if span is None else int(message[span[0] : span[1]])


def step_span(message: str) -> tuple[int, int] | None:
    """Where the digits of that step stand."""
    if "step" not in message and "iteration" not in message:
        return None
    found = _STEP.search(message)
    if found is None:
        return None
    return found.span(1) if found[1] else found.span(2)


def may_place(message: str) -> bool:
    """Whether `placement` may find one."""
    return "pid=" in message and "world" in message


def rank_metrics(message: str) -> Mapping[str, float]:
    """Values of `step 700 local_loss=1.4 data_time=0.0004`, as `rank/<name>`; {} if there are none.

    Only pure numbers count (`mem=0.7GiB` does not); NaN and infinities are values.
    """
    start = message.find("step ")
    if start < 0 or "=" not in message:
        return {}
    values = {}
    for token in message[start:].split():
        name, equals, text = token.partition("=")
        if equals and name.isidentifier() and (text[-1:].isdigit() or text.lower() in _NON_FINITE):
            number = _number(text)
            if number is not None:
                values[f"rank/{name}"] = number
    return values


def _number(text: str) -> float | None:
    try:
        return float(text) if "_" not in text else None
    except ValueError:
        return None


def placement(message: str, line: LogLine, node: str | None) -> Placement | None:
    """The placement a start-up line gives, or None if it gives no pid."""
    pairs: dict[str, str] = dict(_PAIR.findall(message))
    if "pid" not in pairs or line.rank is None:
        return None
    device = _DEVICE.search(message)
    return Placement(
        rank=line.rank,
        node=node or pairs.get("host", "")[:_MAX_NODE] or None,
        local_rank=line.local_rank,
        pid=_integer(pairs["pid"], _PID_DIGITS),
        world_size=_integer(pairs.get("world_size", pairs.get("world", "")), _RANK_DIGITS),
        device=device[1].strip()[:_MAX_DEVICE] if device is not None else None,
        time_ns=line.time_ns,
    )


def _integer(text: str, most_digits: int) -> int | None:
    digits = text.rstrip(",;)")
    return int(digits) if digits.isdecimal() and len(digits) <= most_digits else None
