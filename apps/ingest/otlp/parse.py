"""Bodies of OTLP/HTTP logs, as protobuf and as JSON. Plain Python.

Source: opentelemetry-proto 1.x (logs.proto, common.proto) and the OTLP specification.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec
from google.protobuf.message import DecodeError

from apps.core.errors import BadPayload
from apps.ingest import frames, protobuf, readings
from apps.ingest.pushed import Pushed, Record

MAX_DEPTH: Final = 8
_TOO_DEEP: Final = "…"
STACK: Final = "exception.stacktrace"

_MESSAGES = protobuf.build(
    "lastgood.otlp",
    {
        "ArrayValue": {"values": (1, "AnyValue", True)},
        "KeyValueList": {"values": (1, "KeyValue", True)},
        "AnyValue": {
            "string_value": (1, "bytes", False),
            "bool_value": (2, "bool", False),
            "int_value": (3, "int", False),
            "double_value": (4, "double", False),
            "array_value": (5, "ArrayValue", False),
            "kvlist_value": (6, "KeyValueList", False),
            "bytes_value": (7, "bytes", False),
        },
        "KeyValue": {"key": (1, "bytes", False), "value": (2, "AnyValue", False)},
        "Scope": {"name": (1, "bytes", False), "attributes": (3, "KeyValue", True)},
        "Resource": {"attributes": (1, "KeyValue", True)},
        "LogRecord": {
            "time_unix_nano": (1, "fixed64", False),
            "observed_time_unix_nano": (11, "fixed64", False),
            "severity_number": (2, "int", False),
            "severity_text": (3, "bytes", False),
            "body": (5, "AnyValue", False),
            "attributes": (6, "KeyValue", True),
            "event_name": (12, "bytes", False),
        },
        "ScopeLogs": {"scope": (1, "Scope", False), "log_records": (2, "LogRecord", True)},
        "ResourceLogs": {"resource": (1, "Resource", False), "scope_logs": (2, "ScopeLogs", True)},
        "Request": {"resource_logs": (1, "ResourceLogs", True)},
    },
    syntax="proto2",
)


def parse_protobuf(body: bytes) -> Pushed:
    """The records of a protobuf body by resource and scope; BadPayload if it is none."""
    protobuf.weigh(body)
    try:
        request = _MESSAGES["Request"].FromString(body)
    except DecodeError as error:
        raise BadPayload(f"not an ExportLogsServiceRequest: {error}", where="body") from error
    pushed = Pushed()
    for of_resource in request.resource_logs:
        resource = dict(_pairs(of_resource.resource.attributes))
        for of_scope in of_resource.scope_logs:
            scope = _scope(_text(of_scope.scope.name), dict(_pairs(of_scope.scope.attributes)))
            records = [_record(one) for one in of_scope.log_records]
            pushed.add({**scope, **resource}, records)
    return pushed


def _scope(name: str, attributes: dict[str, Any]) -> dict[str, Any]:
    return {**attributes, "logger": name} if name else attributes


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _pairs(attributes: Any, depth: int = 1) -> Iterator[tuple[str, Any]]:
    for pair in attributes:
        yield _text(pair.key), _value(pair.value, depth)


def _value(value: Any, depth: int = 1) -> Any:
    """A value as Python would write it; lists and mappings down to MAX_DEPTH."""
    if value.HasField("string_value"):
        return _text(value.string_value)
    if value.HasField("bytes_value"):
        return _text(value.bytes_value)
    for name in ("bool_value", "int_value", "double_value"):
        if value.HasField(name):
            return getattr(value, name)
    return _deep_value(value, depth)


def _deep_value(value: Any, depth: int) -> Any:
    if value.HasField("array_value"):
        inner = value.array_value.values
        return [_value(one, depth + 1) for one in inner] if depth < MAX_DEPTH else _TOO_DEEP
    if value.HasField("kvlist_value"):
        pairs = value.kvlist_value.values
        return dict(_pairs(pairs, depth + 1)) if depth < MAX_DEPTH else _TOO_DEEP
    return None


def _record(one: Any) -> Record:
    return made(
        time_ns=one.time_unix_nano or one.observed_time_unix_nano,
        severity_number=one.severity_number,
        severity_text=_text(one.severity_text),
        body=_value(one.body),
        attributes=dict(_pairs(one.attributes)),
        event=_text(one.event_name),
    )


def made(
    *,
    time_ns: int,
    severity_number: int,
    severity_text: str,
    body: Any,
    attributes: dict[str, Any],
    event: str,
) -> Record:
    """The line of a record. A mapping as body is read like a JSON line; a stack trace stands below.

    time_ns 0: not said.
    """
    below = attributes.pop(STACK, "")
    if isinstance(body, dict):
        attributes = {**dict(_flat(body)), **attributes}
        body = None
    if event:
        attributes.setdefault("event.name", event)
    level = readings.otel_severity(severity_number)
    return Record(
        time_ns=time_ns if 0 < time_ns <= readings.MAX_NS else None,
        text=_said(body),
        labels=attributes,
        severity=level if level is not None else readings.severity(severity_text),
        below=str(below),
    )


def _said(body: Any) -> str:
    if body is None:
        return ""
    return body if isinstance(body, str) else msgspec.json.encode(body).decode()


def _flat(value: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, inner in value.items():
        if isinstance(inner, dict):
            yield from _flat(inner, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", inner


class _AnyValue(msgspec.Struct, rename="camel"):
    string_value: str | None = None
    bool_value: bool | None = None
    int_value: int | str | None = None
    double_value: float | str | None = None
    array_value: _ArrayValue | None = None
    kvlist_value: _KeyValueList | None = None
    bytes_value: str | None = None


class _ArrayValue(msgspec.Struct):
    values: list[_AnyValue] = []


class _KeyValue(msgspec.Struct):
    key: str = ""
    value: _AnyValue | None = None


class _KeyValueList(msgspec.Struct):
    values: list[_KeyValue] = []


class _Resource(msgspec.Struct):
    attributes: list[_KeyValue] = []


class _Scope(msgspec.Struct):
    name: str = ""
    attributes: list[_KeyValue] = []


class _LogRecord(msgspec.Struct, rename="camel"):
    time_unix_nano: str | int = 0
    observed_time_unix_nano: str | int = 0
    severity_number: int = 0
    severity_text: str = ""
    body: _AnyValue | None = None
    attributes: list[_KeyValue] = []
    event_name: str = ""


class _ScopeLogs(msgspec.Struct, rename="camel"):
    scope: _Scope | None = None
    log_records: list[_LogRecord] = []


class _ResourceLogs(msgspec.Struct, rename="camel"):
    resource: _Resource | None = None
    scope_logs: list[_ScopeLogs] = []


class _Request(msgspec.Struct, rename="camel"):
    resource_logs: list[_ResourceLogs] = []


def parse_json(body: bytes) -> Pushed:
    """The same of a JSON body."""
    pushed = Pushed()
    for of_resource in frames.decode(body, _Request).resource_logs:
        resource = _json_pairs(of_resource.resource.attributes) if of_resource.resource else {}
        for of_scope in of_resource.scope_logs:
            found = of_scope.scope or _Scope()
            scope = _scope(found.name, _json_pairs(found.attributes))
            records = [_json_record(one) for one in of_scope.log_records]
            pushed.add({**scope, **resource}, records)
    return pushed


def _json_pairs(pairs: list[_KeyValue], depth: int = 1) -> dict[str, Any]:
    return {pair.key: _json_value(pair.value, depth) for pair in pairs}


def _json_value(value: _AnyValue | None, depth: int = 1) -> Any:
    if value is None:
        return None
    if value.bytes_value is not None:
        return _from_base64(value.bytes_value)
    if value.int_value is not None:
        return _integer(value.int_value)
    if value.array_value is not None:
        inner = value.array_value.values
        return [_json_value(one, depth + 1) for one in inner] if depth < MAX_DEPTH else _TOO_DEEP
    if value.kvlist_value is not None:
        pairs = value.kvlist_value.values
        return _json_pairs(pairs, depth + 1) if depth < MAX_DEPTH else _TOO_DEEP
    plain = (value.string_value, value.bool_value, value.double_value)
    return next((one for one in plain if one is not None), None)


def _integer(value: int | str) -> int | str:
    """Proto3 JSON writes 64-bit numbers as text; what is none stays as it is."""
    text = str(value)
    digits = text[1:] if text[:1] == "-" else text
    return int(text) if digits.isascii() and digits.isdigit() and len(digits) < 20 else value


def _from_base64(text: str) -> str:
    try:
        return base64.b64decode(text).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        return text


def _json_record(one: _LogRecord) -> Record:
    return made(
        time_ns=_time(one.time_unix_nano) or _time(one.observed_time_unix_nano),
        severity_number=one.severity_number,
        severity_text=one.severity_text,
        body=_json_value(one.body),
        attributes=_json_pairs(one.attributes),
        event=one.event_name,
    )


def _time(value: str | int) -> int:
    number = _integer(value)
    return number if isinstance(number, int) else 0
