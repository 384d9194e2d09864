"""Bodies as shippers of Loki and OpenTelemetry make them, built from the public proto files."""

from __future__ import annotations

import json
import struct

import cramjam

T0_NS = 1_795_981_200_000_000_000


def varint(number):
    """A whole number from 0 as protobuf writes it."""
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def field(number, value):
    """One field: an int as varint, text and bytes with their length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def fixed64(number, value):
    """A fixed64 field."""
    return varint(number << 3 | 1) + struct.pack("<Q", value)


def loki_entry(text, time_ns=T0_NS, **metadata):
    """logproto.EntryAdapter"""
    stamp = field(1, time_ns // 10**9) + field(2, time_ns % 10**9)
    pairs = (field(3, field(1, name) + field(2, value)) for name, value in metadata.items())
    return field(1, stamp) + field(2, text) + b"".join(pairs)


def loki_push(*streams):
    """logproto.PushRequest of (labels, [entry, ...]), before compression."""
    return b"".join(
        field(1, field(1, labels) + b"".join(field(2, entry) for entry in entries))
        for labels, entries in streams
    )


def snapped(body):
    """One snappy block."""
    return bytes(cramjam.snappy.compress_raw(body))


def loki_json(*streams):
    """A JSON push of (labels, [[time, line], ...])."""
    found = [{"stream": labels, "values": values} for labels, values in streams]
    return json.dumps({"streams": found}).encode()


def any_value(value):
    """opentelemetry.proto.common.v1.AnyValue"""
    if isinstance(value, dict):
        return field(6, b"".join(field(1, pair(*item)) for item in value.items()))
    if isinstance(value, list):
        return field(5, b"".join(field(1, any_value(one)) for one in value))
    if isinstance(value, bool):
        return field(2, int(value))
    if isinstance(value, int):
        return field(3, value)
    if isinstance(value, float):
        return varint(4 << 3 | 1) + struct.pack("<d", value)
    return field(7, value) if isinstance(value, bytes) else field(1, value)


def pair(key, value):
    """A KeyValue."""
    return field(1, key) + field(2, any_value(value))


def otlp_record(body, time_ns=T0_NS, severity=9, observed_ns=0, **attributes):
    """A LogRecord."""
    return (
        fixed64(1, time_ns)
        + field(2, severity)
        + field(5, any_value(body))
        + b"".join(field(6, pair(*item)) for item in attributes.items())
        + fixed64(11, observed_ns)
    )


def otlp_request(resource, *records, scope="train"):
    """An ExportLogsServiceRequest with one resource and one scope."""
    of_scope = field(1, field(1, scope)) + b"".join(field(2, record) for record in records)
    attributes = b"".join(field(1, pair(*item)) for item in resource.items())
    return field(1, field(1, attributes) + field(2, of_scope))
