"""An answer of the deck, cut to what an open page does not have. Values only.

Each answer carries a mark, and the page sends the newest one back. A mark says up to where the
curves were complete, and has digests: of each part as it was sent, and of the beginnings of the
curves of each chart. A part whose digest is still the same is not sent again, and of curves that
begin as they did only the ends are. Whatever changes what the page has (rows that came late, a
rewind, another resolution or zoom) changes a digest, and that part is sent whole. So nothing has to
be remembered here, and a page that merges always shows what a page that loads would.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import math
import struct
from array import array
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from apps.core.plain import plain

DIGEST_BYTES = 8
MAX_MARK = 4_096
"""Characters of a mark; one of 24 charts has 600."""
GROWING = frozenset({"value", "old", "smooth", "band", "compare", "sibling", "other", "rank"})
"""Roles of traces that grow at their end only. The others (whiskers, triangles, arrows) are few
points that appear anywhere: they are always sent whole."""
_SETTLED = frozenset({"compare", "sibling", "other"})
"""Of these, traces that do not follow the run: all of them is their beginning."""


@dataclass(frozen=True, slots=True)
class Until:
    """Where curves are complete: x of the bucket that is still open, and the attempt whose it is.
    Those of other attempts do not grow any more."""

    x: float
    attempt: int


@dataclass(frozen=True, slots=True)
class Mark:
    """What a page has: digests of parts and of beginnings of charts, cut at `until`."""

    until: Until
    known: frozenset[bytes]


NOTHING = Mark(Until(-math.inf, -1), frozenset())


def read_mark(text: str) -> Mark:
    """The mark in an address; NOTHING for what is none."""
    try:
        raw = base64.urlsafe_b64decode(text[:MAX_MARK])
        x, attempt = struct.unpack_from("<dq", raw)
    except (ValueError, binascii.Error, struct.error):
        return NOTHING
    rest = raw[16:]
    cut = range(0, len(rest), DIGEST_BYTES)
    return Mark(Until(x, attempt), frozenset(rest[at : at + DIGEST_BYTES] for at in cut))


def delta(answer: Mapping[str, Any], until: Until, had: Mark) -> dict[str, Any]:
    """The answer without what the page has, with its own mark; static/js/deck_delta.js merges it.

    kept: names of parts that the page has. charts: a chart is null if the page has it; a trace of
    it with `keep` is the end of the trace at the same place among the growing ones that the page
    has, to be put behind its first `keep` points. growing: the roles of those.
    """
    seen: list[bytes] = []
    found: dict[str, Any] = {}
    kept = []
    for name, part in answer.items():
        if name == "charts":
            found[name] = {key: _chart((key, one), until, had, seen) for key, one in part.items()}
            continue
        told = plain(part)
        seen.append(_digest(name.encode(), orjson.dumps(told)))
        if seen[-1] in had.known:
            kept.append(name)
        else:
            found[name] = told
    head = struct.pack("<dq", until.x, until.attempt)
    mark = base64.urlsafe_b64encode(head + b"".join(seen)).decode()
    return {**found, "kept": kept, "growing": sorted(GROWING), "mark": mark}


def _chart(
    named: tuple[str, Mapping[str, Any]], until: Until, had: Mark, seen: list[bytes]
) -> dict[str, Any] | None:
    """The chart, its ends, or None; adds to what the page will have seen. named: with its key, as
    what the page has of one chart is nothing that it has of another, be they alike."""
    key, chart = named
    curves = [_Curve(trace) for trace in chart["figure"]["data"] if _grows(trace)]
    begins = [curve.begin(until) for curve in curves]
    bare = {**chart, "figure": {**chart["figure"], "data": [c.look for c in curves]}}
    few = [trace for trace in chart["figure"]["data"] if not _grows(trace)]
    whole = _digest(orjson.dumps((key, bare, few)), *(c.bytes_to(len(c.x)) for c in curves))
    seen += [whole, _beginning(key, curves, begins)]
    if whole in had.known:
        return None
    begins = [curve.begin(had.until) for curve in curves]
    if not curves or _beginning(key, curves, begins) not in had.known:
        return dict(chart)
    ends = iter([curve.end(keep) for curve, keep in zip(curves, begins, strict=True)])
    data = [next(ends) if _grows(trace) else trace for trace in chart["figure"]["data"]]
    return {**chart, "figure": {**chart["figure"], "data": data}}


def _grows(trace: Mapping[str, Any]) -> bool:
    return trace["meta"]["role"] in GROWING


class _Curve:
    """A growing trace. x ascending; look: all of it but the points."""

    def __init__(self, trace: Mapping[str, Any]) -> None:
        self.x: Sequence[float] = trace["x"]
        self.y: Sequence[float] = trace["y"]
        self.look = {name: value for name, value in trace.items() if name not in ("x", "y")}
        self._packed = array("d", self.x), array("d", self.y)

    def begin(self, until: Until) -> int:
        """How many points will not change any more, as far as one can tell."""
        meta = self.look["meta"]
        if meta["role"] in _SETTLED or meta.get("attempt", until.attempt) != until.attempt:
            return len(self.x)
        return bisect_left(self.x, until.x)

    def bytes_to(self, end: int) -> bytes:
        """The first points, as bytes that differ where any bit of them does."""
        return b"".join(packed[:end].tobytes() for packed in self._packed)

    def end(self, keep: int) -> dict[str, Any]:
        """What comes behind the first points."""
        return {"meta": self.look["meta"], "keep": keep, "x": self.x[keep:], "y": self.y[keep:]}


def _beginning(key: str, curves: Sequence[_Curve], begins: Sequence[int]) -> bytes:
    """Of the looks and first points of the curves of the chart that has this key."""
    parts = [curve.bytes_to(keep) for curve, keep in zip(curves, begins, strict=True)]
    looks = [(curve.look, keep) for curve, keep in zip(curves, begins, strict=True)]
    return _digest(orjson.dumps((key, looks)), *parts)


def _digest(*parts: bytes) -> bytes:
    """Each part counts with its length, so that none reaches into the next."""
    found = hashlib.blake2b(digest_size=DIGEST_BYTES)
    for part in parts:
        found.update(len(part).to_bytes(8, "little"))
        found.update(part)
    return found.digest()
