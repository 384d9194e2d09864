"""What a bank of detectors remembers: NumPy arrays over the series, and their bytes."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import zstandard

from apps.core.errors import AppError
from apps.metrics.domain.blocks import Bools, Ints

ROWS = 8
"""Values of a block."""
RING = 16
"""Blocks of the past: 128 values."""
APART = 8
"""Blocks outside the band that must look alike before they count as the new level."""
NO_STEP = -(1 << 62)
VERSION = 1
MAX_BYTES = 1 << 26
_LEVEL = 1

Singles = npt.NDArray[np.float32]
Array = npt.NDArray[Any]


@dataclass(slots=True)
class BankState:
    """One row a series, about 370 bytes. Made by `empty`; float32, so that storing loses nothing.

    excess, far_need, limit: what its statistic asks for (see `bank.Demand`). last_step: the newest
    one judged. part, miss: the block that is being filled and how far its values were from what was
    foretold; fill: how many. medians, misses: the ring, the newest block last, `blocks` of it in
    use; age: blocks so far, at most 200. apart, apart_misses, aparts: the same of values outside.
    level, slope, scale: the band at the start of the block. side, leans, calm, lean_*: the stretch
    beyond `lean_z`. outs: one bit a value, 1 = out. fars, inside: values running. peak_z: of the
    stretch. moved, loud: what was told. overs, over_run, under, over: the same against the limit.
    """

    excess: Singles
    far_need: Array
    limit: Singles
    last_step: Ints
    fill: Array
    blocks: Array
    age: Array
    aparts: Array
    part: Singles
    miss: Singles
    medians: Singles
    misses: Singles
    apart: Singles
    apart_misses: Singles
    level: Singles
    slope: Singles
    scale: Singles
    side: Array
    leans: Array
    calm: Array
    lean_step: Ints
    lean_ns: Ints
    lean_value: Singles
    lean_level: Singles
    lean_z: Singles
    outs: Array
    fars: Array
    inside: Array
    peak_z: Singles
    moved: Bools
    loud: Bools
    overs: Array
    over_run: Array
    under: Array
    over: Bools

    def __len__(self) -> int:
        return len(self.fill)

    def take(self, index: Array) -> BankState:
        """The chosen series, as copies."""
        return BankState(*(getattr(self, name)[index] for name in NAMES))

    def put(self, index: Array, part: BankState) -> None:
        """Replaces the chosen series."""
        for name in NAMES:
            getattr(self, name)[index] = getattr(part, name)

    def first(self, count: int) -> BankState:
        """The first series, as views."""
        return BankState(*(getattr(self, name)[:count] for name in NAMES))

    def with_more(self, more: BankState) -> BankState:
        """These series, then those."""
        return BankState(
            *(np.concatenate((getattr(self, name), getattr(more, name))) for name in NAMES)
        )


NAMES = tuple(field.name for field in fields(BankState))
_WIDTHS = {
    "part": ROWS, "miss": ROWS, "medians": RING, "misses": RING, "apart": APART,
    "apart_misses": APART,
}  # fmt: skip
_KINDS: dict[str, Any] = {
    "last_step": np.int64, "lean_step": np.int64, "lean_ns": np.int64, "far_need": np.uint8,
    "fill": np.uint8, "blocks": np.uint8, "age": np.uint8, "aparts": np.uint8, "side": np.int8,
    "leans": np.uint16, "calm": np.uint8, "outs": np.uint16, "fars": np.uint8, "inside": np.uint8,
    "moved": np.bool_, "loud": np.bool_, "overs": np.uint8, "over_run": np.uint16,
    "under": np.uint8, "over": np.bool_,
}  # fmt: skip


def _shape(name: str, series: int) -> tuple[int, ...]:
    width = _WIDTHS.get(name)
    return (series,) if width is None else (series, width)


def _kind(name: str) -> np.dtype[Any]:
    kind: np.dtype[Any] = np.dtype(_KINDS.get(name, np.float32))
    return kind.newbyteorder("<")


def empty(series: int) -> BankState:
    """Series without a past; set `excess`, `far_need` and `limit`."""
    state = BankState(*(np.zeros(_shape(name, series), dtype=_kind(name)) for name in NAMES))
    state.scale[:] = state.limit[:] = np.inf
    state.last_step[:] = NO_STEP
    return state


def calm(state: BankState) -> None:
    """Keeps what was learned; forgets what was told, and up to which step: a new attempt begins."""
    state.last_step[:] = NO_STEP
    state.moved[:] = state.loud[:] = state.over[:] = False
    for name in ("fill", "leans", "calm", "outs", "fars", "aparts", "overs"):
        getattr(state, name)[:] = 0


def dump(state: BankState) -> bytes:
    """The arrays as bytes: version and number of series, then one zstd frame."""
    raw = b"".join(np.ascontiguousarray(getattr(state, name)).tobytes() for name in NAMES)
    body = zstandard.ZstdCompressor(level=_LEVEL).compress(raw)
    return msgspec.msgpack.encode((VERSION, len(state), body))


def load(data: bytes) -> BankState:
    """The state that `dump` made. AppError for another version or foreign bytes."""
    try:
        version, series, body = msgspec.msgpack.decode(data, type=tuple[int, int, bytes])
        if version != VERSION or not 0 <= series <= 1 << 20:
            raise AppError(f"the stored bank has version {version}, not {VERSION}", where="bank")
        raw = zstandard.ZstdDecompressor().decompress(body, max_output_size=MAX_BYTES)
        return _arrays(raw, series)
    except (msgspec.MsgspecError, zstandard.ZstdError, ValueError) as error:
        raise AppError(f"the stored bank cannot be read: {error}", where="bank") from error


def _arrays(raw: bytes, series: int) -> BankState:
    made, start = [], 0
    for name in NAMES:
        shape, kind = _shape(name, series), _kind(name)
        count = int(np.prod(shape))
        made.append(np.frombuffer(raw, kind, count, start).reshape(shape).copy())
        start += count * kind.itemsize
    if start != len(raw):
        raise ValueError("it is longer than its series")
    return BankState(*made)
