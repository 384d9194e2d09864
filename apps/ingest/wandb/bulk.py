"""Items of many W&B records -> decoded objects at once. Pure.

An item in its usual form is one substitution away from JSON, so that NumPy turns a whole batch
into JSON text and one parse a record gives names and values together:

    0A <n> 12 <k> name 82 01 <v> text      Item{nested_key, value_json}, no length above 127
    ,          "  name "  :      text

Three times as fast as going through the items one by one.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

_ITEM, _NAME, _VALUE, _MORE = 0x0A, 0x12, b"\x82\x01", 0x80
_QUOTE, _BACKSLASH = ord('"'), ord("\\")
_HEAD_BYTES, _LINK_BYTES = 4, 3
Index = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Object:
    """A record's leading items as one object; rest: the bytes behind them."""

    values: dict[str, Any]
    rest: bytes


@dataclass(frozen=True, slots=True)
class _Items:
    """Where the items of all records lie. record: which one it is of. link: of its 82 01."""

    record: Index
    start: Index
    link: Index
    end: Index

    def take(self, which: Bools) -> _Items:
        return _Items(self.record[which], self.start[which], self.link[which], self.end[which])


def objects(payloads: Sequence[bytes]) -> list[Object | None]:
    """The object of each payload; None if it has other items than usual ones, or a name twice.

    NaN, Infinity and -Infinity may stand as bare tokens. About 8 us a record of 60 values.
    """
    sizes = np.fromiter(map(len, payloads), np.int64, len(payloads))
    ends = np.cumsum(sizes)
    data = np.frombuffer(b"".join(payloads), np.uint8).copy()
    found = _items(data, ends - sizes)
    usual = np.zeros(len(payloads), np.bool_)
    usual[found.record] = True
    usual[found.record[~_is_usual(data, found, ends)]] = False
    found = found.take(usual[found.record])
    counts = np.bincount(found.record, minlength=len(payloads)).tolist()
    _substitute(data, found)
    text = data.tobytes()
    last = np.zeros(len(payloads), np.int64)
    last[found.record] = found.end
    places = zip(
        counts, (ends - sizes).tolist(), last.tolist(), ends.tolist(), payloads, strict=True
    )
    return [
        _object(text[start:stop] + b"}", count, payload[len(payload) - (end - stop) :])
        if count
        else None
        for count, start, stop, end, payload in places
    ]


def _items(data: Bytes, starts: Index) -> _Items:
    link = np.flatnonzero((data[:-1] == _VALUE[0]) & (data[1:] == _VALUE[1]))
    link = link[link + 2 < data.size]
    record = np.searchsorted(starts, link, side="right") - 1
    end = link + _LINK_BYTES + data[link + 2]
    start = np.empty_like(end)
    start[1:] = end[:-1]
    first = np.ones(len(record), np.bool_)
    first[1:] = record[1:] != record[:-1]
    start[first] = starts[record[first]]
    return _Items(record, start, link, end)


def _is_usual(data: Bytes, items: _Items, ends: Index) -> Bools:
    """Which items are where they seem to be, with names that JSON takes as they are."""
    inside = (items.start + _HEAD_BYTES <= items.link) & (items.end <= ends[items.record])
    head = np.minimum(items.start, items.link)
    head = np.minimum(head, data.size - _HEAD_BYTES)
    size, name = data[head + 1], data[head + 3]
    usual: Bools = (
        inside
        & (data[head] == _ITEM)
        & (data[head + 2] == _NAME)
        & (head + _HEAD_BYTES + name == items.link)
        & (head + 2 + size == items.end)
        & (size < _MORE)
    )
    odd = np.flatnonzero((data == _QUOTE) | (data == _BACKSLASH))
    item = np.searchsorted(items.link, odd)
    odd, item = odd[item < len(usual)], item[item < len(usual)]
    usual[item[odd >= items.start[item] + _HEAD_BYTES]] = False
    return usual


def _substitute(data: Bytes, items: _Items) -> None:
    first = np.ones(len(items.record), np.bool_)
    first[1:] = items.record[1:] != items.record[:-1]
    data[items.start] = np.where(first, ord("{"), ord(","))
    data[items.start + 1] = data[items.start + 2] = data[items.link + 2] = ord(" ")
    data[items.start + 3] = data[items.link] = _QUOTE
    data[items.link + 1] = ord(":")


def _object(text: bytes, count: int, rest: bytes) -> Object | None:
    for loads in (orjson.loads, json.loads):
        try:
            values = loads(text)
        except (ValueError, RecursionError):
            continue
        return Object(values, rest) if len(values) == count else None
    return None
