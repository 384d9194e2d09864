"""What of a history row is no number: kept beside them so that the row reads back whole. Pure.

The numbers of a row lie in the packed store under flat names: {"eval": {"loss": 1}} as "eval/loss".
Its extra is what they do not say, a small mapping:

    r   `_runtime`
    t   `_timestamp`, where the row's time in nanoseconds does not give back that double
    o   flat name -> value: texts, lists, null, booleans, whole numbers beyond 2**53, histograms
    d   names of the objects that were opened: what lies below belongs inside
    w   names whose values are whole in `o`: numbers below are figures of it or repeat it
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
import zstandard

from apps.core.errors import AppError
from apps.ingest.wandb.values import (
    MAX_DEPTH,
    NAMED_NUMBERS,
    OWN_KEYS,
    UNREADABLE,
    as_float,
    key_text,
    kind,
)
from apps.metrics.domain.blocks import BlockError

Extra = Mapping[str, Any]
MAX_ROW_BYTES: Final = 64 << 10
MAX_BLOCK_BYTES: Final = 64 << 20
EXACT: Final = 2**53
_OFTEN: Final = {float, int}


class _Unkept(AppError):
    """A value that cannot be kept as it is."""


def extra_of(found: Mapping[str, Any], time_ns: int, dropped: Counter[str]) -> Extra | None:
    """The extra of a decoded row; None if its numbers and time say all.

    What cannot be kept (nested too deeply, no JSON, larger than MAX_ROW_BYTES with all the rest of
    its row) is counted in `dropped` by its kind.
    """
    extra = dict[str, Any]()
    runtime, stamp = found.get("_runtime"), found.get("_timestamp")
    if isinstance(runtime, int | float):
        extra["r"] = as_float(runtime)
    if isinstance(stamp, int | float) and stamp != time_ns / 1_000_000_000:
        extra["t"] = as_float(stamp)
    if not _is_plain(found):
        rest = _rest(found, dropped)
        if any(rest.values()) and len(msgspec.msgpack.encode(rest)) > MAX_ROW_BYTES:
            dropped.update(kinds(rest))
        else:
            extra.update({name: value for name, value in rest.items() if value})
    return extra or None


def kinds(extra: Extra) -> Counter[str]:
    """How many values of each kind an extra holds; numbers that only say more than the store does
    (booleans, large whole ones) are not counted."""
    values = extra.get("o", {}).values()
    return Counter(kind(value) for value in values if not isinstance(value, int))


def _is_plain(found: Mapping[str, Any]) -> bool:
    kinds = set(map(type, found.values()))
    if not kinds <= _OFTEN or "" in found:
        return False
    return int not in kinds or all(map(_is_number, found.values()))


def _rest(found: Mapping[str, Any], dropped: Counter[str]) -> dict[str, Any]:
    other, opened, whole = dict[str, Any](), list[str](), list[str]()
    for key, value in found.items():
        name = key_text(key.encode("utf-8", "replace"))
        if name.partition("/")[0] in OWN_KEYS:
            continue
        try:
            if name and _regular(name, value):
                _open(name, value, (other, opened, whole))
            elif not name or not _is_number(value):
                other[name] = _kept(value)
                whole += [name] if isinstance(value, dict) else []
        except _Unkept:
            dropped[kind(value)] += 1
    _close_ambiguous(found, other, opened, whole)
    return {"o": other, "d": opened, "w": whole}


def _is_number(value: Any) -> bool:
    """Whether the packed store gives the value back as it was."""
    if isinstance(value, bool):
        return False
    if isinstance(value, int):
        return -EXACT <= value <= EXACT
    return isinstance(value, float) or (isinstance(value, str) and value in NAMED_NUMBERS)


def _regular(name: str, value: Any, depth: int = 0) -> bool:
    """Whether this is an object whose flat names lead back to it."""
    if not isinstance(value, dict) or not value or "_type" in value or depth >= MAX_DEPTH:
        return False
    return "/" not in name and all(
        "/" not in key and (not isinstance(inner, dict) or not inner or "_type" in inner
                            or _regular(key, inner, depth + 1))
        for key, inner in value.items()
    )  # fmt: skip


def _open(
    name: str, value: Mapping[str, Any], into: tuple[dict[str, Any], list[str], list[str]]
) -> None:
    other, opened, whole = into
    opened.append(name)
    for key, inner in value.items():
        below = f"{name}/{key_text(key.encode('utf-8', 'replace'))}"
        if _regular(key, inner):
            _open(below, inner, into)
        elif not _is_number(inner):
            other[below] = _kept(inner)
            whole += [below] if isinstance(inner, dict) else []


def _close_ambiguous(
    found: Mapping[str, Any], other: dict[str, Any], opened: list[str], whole: list[str]
) -> None:
    """A flat name that looks as if it lay inside an object: both are then kept whole."""
    tops = {name for name in opened if "/" not in name} | {name for name in whole if name in found}
    for key in [key for key in found if "/" in key] if tops else ():
        above = next((name for name in above_of(key) if name in tops), None)
        if above is None:
            continue
        other[key] = _kept(found[key])
        if above in opened:
            below = f"{above}/"
            opened[:] = [name for name in opened if not f"{name}/".startswith(below)]
            whole[:] = [*(name for name in whole if not name.startswith(below)), above]
            for name in [name for name in other if name.startswith(below) and name not in found]:
                del other[name]
            other[above] = _kept(found[above])


def above_of(key: str) -> Iterator[str]:
    """The names of objects that a flat name could lie in."""
    at = key.find("/")
    while at >= 0:
        yield key[:at]
        at = key.find("/", at + 1)


def _kept(value: Any, depth: int = 0) -> Any:
    """The value as msgpack holds it. _Unkept if it is nested too deeply or no JSON at all."""
    if value is UNREADABLE or depth > MAX_DEPTH:
        raise _Unkept("cannot be kept")
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return as_float(value)
    if isinstance(value, dict):
        items = value.items()
        return {_kept(key, depth): _kept(inner, depth + 1) for key, inner in items}
    return [_kept(inner, depth + 1) for inner in value] if isinstance(value, list) else value


def flat(values: Mapping[str, Any], extra: Extra) -> dict[str, Any]:
    """The numbers of a row and what its extra adds, under flat names."""
    whole = tuple(f"{name}/" for name in extra.get("w", ()))
    kept = values
    if whole:
        kept = {name: value for name, value in values.items() if not name.startswith(whole)}
    return {**kept, **extra.get("o", {})}


def nested(values: Mapping[str, Any], extra: Extra) -> dict[str, Any]:
    """A flat row with the objects that were opened put together again."""
    opened = set(extra.get("d", ()))
    if not opened:
        return dict(values)
    row = dict[str, Any]()
    for name, value in values.items():
        node, above, rest = row, "", name
        while True:
            head, slash, below = rest.partition("/")
            if not slash or above + head not in opened:
                node[rest] = value
                break
            node, above, rest = node.setdefault(head, {}), f"{above}{head}/", below
    return row


def own(extra: Extra) -> dict[str, Any]:
    """The client's own entries that an extra holds."""
    named = (("r", "_runtime"), ("t", "_timestamp"))
    return {name: extra[key] for key, name in named if key in extra}


def pack(extras: Sequence[tuple[int, Extra]]) -> bytes:
    """(number of the row, extra without its runtime) of some rows as bytes."""
    return zstandard.ZstdCompressor(level=3).compress(msgspec.msgpack.encode(extras))


def unpack(data: bytes) -> Iterator[tuple[int, Extra]]:
    """What was packed. Raises BlockError for anything else."""
    try:
        raw = zstandard.ZstdDecompressor().decompress(data, max_output_size=MAX_BLOCK_BYTES)
        yield from msgspec.msgpack.decode(raw, type=list[tuple[int, dict[str, Any]]])
    except (zstandard.ZstdError, msgspec.DecodeError, msgspec.ValidationError) as error:
        raise BlockError(f"the extras of a block cannot be read: {error}") from error
