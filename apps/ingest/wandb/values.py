"""Items of W&B records (key + JSON text) -> numbers and JSON-safe values. Pure."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson

from apps.metrics.domain import histograms
from apps.metrics.domain.steps import LAST_STEP

MAX_DEPTH = 32
LAST_TIME_S = 9_000_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
UNREADABLE = object()
NAMED_NUMBERS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_USUAL = {float, int}
MEDIA = frozenset({
    "histogram", "image-file", "images/separated", "table-file", "partitioned-table",
    "joined-table", "html-file", "video-file", "audio-file", "object3D-file", "molecule-file",
    "bokeh-file", "plotly-file", "graph-file", "artifactVersion",
})  # fmt: skip
"""What the client calls its own kinds of values; a sender's names never become counters."""
OWN_KEYS = frozenset({"_step", "_timestamp", "_runtime", "_wandb"})

# Protobuf tags of the usual history item: item(1), its nested_key(2), its value_json(16).
_ITEM, _NESTED_KEY, _VALUE = 0x0A, 0x12, b"\x82\x01"


class Names(dict[bytes, str]):
    """Metric key as bytes -> as text; "" for W&B's own keys (_step, _timestamp, _runtime...)."""

    def __missing__(self, key: bytes) -> str:
        text = key_text(key)
        self[key] = name = "" if text.split("/", 1)[0] in OWN_KEYS else text
        return name


def key_text(key: bytes) -> str:
    """A key as text that Postgres accepts: invalid UTF-8 and NUL become U+FFFD."""
    return key.decode("utf-8", "replace").replace("\x00", "\ufffd")


@dataclass(slots=True)
class Numbers:
    """Collects the numbers of one batch. skipped: values that are no numbers, counted by kind.

    Floats, integers and booleans (True = 1.0) are numbers, and so are NaN, Infinity, -Infinity
    as bare tokens or as strings. A plain dict is opened: {"eval": {"loss": 1}} -> "eval/loss".
    A histogram becomes its figures: "h/rms", "h/max_abs", ... (see `histograms.figures`).
    Media, strings, lists and null are skipped.
    """

    skipped: Counter[str] = field(default_factory=Counter)
    names: Names = field(default_factory=Names)
    _plain: set[str] = field(default_factory=set)

    def of(self, found: dict[str, Any]) -> dict[str, float]:
        """The numbers of a decoded line, under their names; `found` is used up.

        The usual line, floats and whole numbers under names that stay as they are, is not copied:
        10 us for 60 values in place of 25.
        """
        found.pop("_runtime", None)
        kinds = set(map(type, found.values()))
        if kinds <= _USUAL and (self._plain.issuperset(found) or self._learn(found)):
            if int in kinds:
                found.update({k: as_float(v) for k, v in found.items() if type(v) is int})
            return found
        values = dict[str, float]()
        for key, value in found.items():
            name = self.names[key.encode("utf-8", "replace")]
            if name:
                self.add(values, name, value)
        return values

    def _learn(self, found: dict[str, Any]) -> bool:
        """Whether all names stay as they are; they are remembered."""
        self._plain.update(
            key for key in found if key and self.names[key.encode("utf-8", "replace")] == key
        )
        return self._plain.issuperset(found)

    def add(self, into: dict[str, float], name: str, value: Any, depth: int = 0) -> None:
        """Put `value` into `into` under `name`, or count why not."""
        if isinstance(value, int | float):
            into[name] = as_float(value)
        elif isinstance(value, str) and value in NAMED_NUMBERS:
            into[name] = NAMED_NUMBERS[value]
        elif isinstance(value, dict) and "_type" not in value and depth < MAX_DEPTH:
            for key, inner in value.items():
                self.add(into, f"{name}/{key}", inner, depth + 1)
        elif isinstance(value, dict) and (figures := histograms.of_wandb(value)):
            into.update((f"{name}/{figure}", number) for figure, number in figures.items())
        else:
            self.skipped[kind(value)] += 1


def kind(value: Any) -> str:
    """What a value is that is no number, in one word: the name of its counter."""
    if isinstance(value, dict):
        said = value.get("_type", "dict")
        return said if said == "dict" or (isinstance(said, str) and said in MEDIA) else "object"
    if value is None:
        return "null"
    return "unreadable" if value is UNREADABLE else type(value).__name__


def as_float(value: float) -> float:
    """`value` as a double; an integer beyond the range of doubles becomes an infinity."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def usual_items(data: bytes) -> tuple[list[bytes], list[bytes], int]:
    """Keys and JSON texts of the leading items in the usual form, and where the rest begins.

    The usual form has one nested_key and no length above 127. It is read here and not by
    protobuf because that is three times as fast (36,000 against 12,000 steps of 39 values per
    CPU second); whatever looks different is left to protobuf.
    """
    keys: list[bytes] = []
    texts: list[bytes] = []
    at, size = 0, len(data)
    while at + 3 < size and data[at] == _ITEM and data[at + 2] == _NESTED_KEY:
        end = at + 2 + data[at + 1]
        value = at + 4 + data[at + 3]
        if data[at + 1] > 127 or end > size or value + 3 > end:
            break
        if data[value : value + 2] != _VALUE or data[value + 2] != end - value - 3:
            break
        keys.append(data[at + 4 : value])
        texts.append(data[value + 3 : end])
        at = end
    return keys, texts, at


def items_of(items: Iterable[Any]) -> tuple[list[bytes], list[bytes]]:
    """Keys and JSON texts of protobuf items; a nested key is joined with "/"."""
    keys: list[bytes] = []
    texts: list[bytes] = []
    for item in items:
        nested = item.nested_key
        keys.append(b"/".join(nested) if nested else item.key)
        texts.append(item.value_json)
    return keys, texts


def step_of(value: Any) -> int | None:
    """The step that a value tells, a whole number from 0 on; None for any other value."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return int(value) if number and 0 <= value <= LAST_STEP and value == int(value) else None


def nanoseconds(seconds: Any) -> int | None:
    """The nearest nanosecond: it gives the same double back, as history.seconds reads it."""
    if not isinstance(seconds, int | float) or not 0 < seconds < LAST_TIME_S:
        return None
    whole = int(seconds)
    return whole * 1_000_000_000 + round((seconds - whole) * 1e9)


def iso_ns(text: str) -> int | None:
    """The time of a stamp of ISO 8601, UTC unless it says otherwise; None if it is none."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    since = at.replace(tzinfo=at.tzinfo or UTC) - _EPOCH
    time_ns = since // timedelta(microseconds=1) * 1_000
    return time_ns if 0 < time_ns < LAST_TIME_S * 1_000_000_000 else None


def put_together(
    keys: Sequence[bytes], values: Sequence[Any], below: Sequence[Sequence[bytes]]
) -> tuple[list[bytes], list[Any]]:
    """Values of which some are parts of objects -> keys and values, the objects put together.

    wandb writes an object as one item per field ("h/_type", "h/bins", ...). below: the names of a
    part inside the object of its key; none for a value that is no part.
    """
    found = dict[bytes, Any]()
    for key, value, names in zip(keys, values, below, strict=True):
        if not names:
            found[key] = value
            continue
        node = found.setdefault(key, {})
        for name in map(key_text, names[:-1]):
            node = node.setdefault(name, {}) if isinstance(node, dict) else {}
        if isinstance(node, dict):
            node[key_text(names[-1])] = value
    return list(found), list(found.values())


def loads(text: bytes | str) -> Any:
    """JSON in which NaN and Infinity may be bare, as W&B writes them; None if it is none."""
    for decode in (orjson.loads, json.loads):
        try:
            return decode(text)
        except (ValueError, RecursionError):
            continue
    return None


def decode_all(texts: Sequence[bytes]) -> list[Any]:
    """The values of JSON texts, decoded in one go; one that is no JSON becomes UNREADABLE.

    Bare NaN, Infinity and -Infinity are accepted (W&B writes them).
    """
    joined = b"[" + b",".join(texts) + b"]"
    for loads in (orjson.loads, json.loads):
        try:
            values = loads(joined)
        except (ValueError, RecursionError):
            continue
        if isinstance(values, list) and len(values) == len(texts):
            return values
    return [_decode(text) for text in texts]


def _decode(text: bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return UNREADABLE


def storable(value: Any, depth: int = 0) -> Any:
    """`value` as strict JSON that Postgres accepts, for configuration and summary.

    NaN and infinities become the strings "NaN", "Infinity", "-Infinity"; NUL and lone surrogates
    become U+FFFD; what lies deeper than MAX_DEPTH becomes its kind in angle brackets.
    """
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 63:
        return storable(as_float(value))
    if isinstance(value, dict | list) and depth >= MAX_DEPTH:
        return f"<{type(value).__name__}>"
    if isinstance(value, dict):
        return {_text(key): storable(inner, depth + 1) for key, inner in value.items()}
    if isinstance(value, list):
        return [storable(inner, depth + 1) for inner in value]
    return None if value is UNREADABLE else value


def _text(value: str) -> str:
    return value.replace("\x00", "\ufffd").encode("utf-8", "replace").decode("utf-8")
