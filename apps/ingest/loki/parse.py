"""Bodies of Loki's push door, as JSON and as protobuf. Plain Python.

Source: push.proto and the push endpoint of Grafana Loki's HTTP API.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec
from google.protobuf.message import DecodeError

from apps.core.errors import BadPayload
from apps.ingest import frames, protobuf
from apps.ingest.pushed import Pushed, Record
from apps.ingest.readings import MAX_NS

NO_TIME: Final = "the time stamp of a line is no Unix time in nanoseconds"
NO_LABELS: Final = 'the labels of a stream are not {name="value", ...}'
NO_ENTRY: Final = "a value is no list of time stamp, line and metadata"
_NS: Final = 1_000_000_000
_DIGITS = re.compile(r"\d{1,19}")
# Names and quoted values of `{job="a", path="C:\\x"}`, as Prometheus writes them.
_PAIR = re.compile(r'\s*([A-Za-z_][\w.:-]*)\s*=\s*("(?:[^"\\]|\\.)*"|`[^`]*`)\s*(?:,|$)')
_ESCAPE = re.compile(r'\\(?:([abfnrtv\\"\'])|x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|([0-7]{3}))')
_ESCAPED: Final = dict(zip("abfnrtv\\\"'", "\a\b\f\n\r\t\v\\\"'", strict=True))

_MESSAGES = protobuf.build(
    "lastgood.loki",
    {
        "Timestamp": {"seconds": (1, "int", False), "nanos": (2, "int", False)},
        "Label": {"name": (1, "bytes", False), "value": (2, "bytes", False)},
        "Entry": {
            "timestamp": (1, "Timestamp", False),
            "line": (2, "bytes", False),
            "metadata": (3, "Label", True),
        },
        "Stream": {"labels": (1, "bytes", False), "entries": (2, "Entry", True)},
        "PushRequest": {"streams": (1, "Stream", True)},
    },
)


class _JsonStream(msgspec.Struct):
    stream: dict[str, str | int | float | bool | None]
    values: list[Any]


class _JsonPush(msgspec.Struct):
    streams: list[_JsonStream]


def parse_json(body: bytes) -> Pushed:
    """The streams of a JSON body. Values that cannot be read are counted with the reason."""
    pushed = Pushed()
    for stream in frames.decode(body, _JsonPush).streams:
        records = []
        for value in stream.values:
            found = _json_record(value)
            if isinstance(found, str):
                pushed.refused[found] += 1
            else:
                records.append(found)
        pushed.add(stream.stream, records)
    return pushed


def _json_record(value: Any) -> Record | str:
    """The line of `["<unix ns>", "<line>", {metadata}]`, or why it is none."""
    if not isinstance(value, list) or not 2 <= len(value) <= 3 or not isinstance(value[1], str):
        return NO_ENTRY
    metadata = value[2] if len(value) == 3 else {}
    if not isinstance(metadata, dict):
        return NO_ENTRY
    at = str(value[0]) if isinstance(value[0], (str, int)) else ""
    if not _DIGITS.fullmatch(at) or not 0 < int(at) <= MAX_NS:
        return NO_TIME
    return Record(int(at), value[1], metadata)


def parse_protobuf(body: bytes) -> Pushed:
    """The streams of an inflated protobuf body."""
    protobuf.weigh(body)
    try:
        request = _MESSAGES["PushRequest"].FromString(body)
    except DecodeError as error:
        raise BadPayload(f"not a PushRequest: {error}", where="body") from error
    pushed = Pushed()
    for stream in request.streams:
        records = []
        for entry in stream.entries:
            at_ns = entry.timestamp.seconds * _NS + entry.timestamp.nanos
            if not 0 < at_ns <= MAX_NS:
                pushed.refused[NO_TIME] += 1
                continue
            metadata = {_text(pair.name): _text(pair.value) for pair in entry.metadata}
            records.append(Record(at_ns, _text(entry.line), metadata))
        labels = read_labels(_text(stream.labels))
        if labels is None:
            pushed.refused[NO_LABELS] += len(records)
        else:
            pushed.add(labels, records)
    return pushed


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def read_labels(text: str) -> Mapping[str, str] | None:
    """name -> value of `{name="value", …}`; None if it is written otherwise. O(length)."""
    inner = text.strip()
    if len(inner) < 2 or inner[0] != "{" or inner[-1] != "}":
        return None
    inner, at, labels = inner[1:-1].rstrip(), 0, {}
    while at < len(inner):
        found = _PAIR.match(inner, at)
        if found is None:
            return None
        value = found[2][1:-1]
        labels[found[1]] = value if found[2][0] == "`" else _ESCAPE.sub(_unescaped, value)
        at = found.end()
    return labels


def _unescaped(found: re.Match[str]) -> str:
    plain, byte, point, octal = found.groups()
    if plain:
        return _ESCAPED[plain]
    return chr(int(octal, 8) if octal else int(byte or point, 16))
