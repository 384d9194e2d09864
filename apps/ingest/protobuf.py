"""Protobuf messages built in code: only the fields that Lastgood reads. Plain Python."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from apps.core.errors import BadPayload

_FIELD = descriptor_pb2.FieldDescriptorProto
_TYPES = {
    "bytes": _FIELD.TYPE_BYTES,
    "int": _FIELD.TYPE_INT64,
    "bool": _FIELD.TYPE_BOOL,
    "float": _FIELD.TYPE_FLOAT,
    "double": _FIELD.TYPE_DOUBLE,
    "uint": _FIELD.TYPE_UINT64,
    "fixed64": _FIELD.TYPE_FIXED64,
}
Fields = Mapping[str, tuple[int, str, bool]]


def build(
    package: str, messages: Mapping[str, Fields], syntax: str = "proto3"
) -> dict[str, type[Any]]:
    """name -> message class. messages: name -> {field name: (number, type, repeated)}.

    A type that is no scalar names a message of the same package. With the syntax "proto2" HasField
    tells a zero from a field that is not there. Strings are declared as bytes: the wire form is the
    same and invalid UTF-8 cannot make a record unreadable. The messages live in a pool of their
    own, so that the real packages may be loaded in the same process.
    """
    file = descriptor_pb2.FileDescriptorProto(
        name=f"{package}.proto", package=package, syntax=syntax
    )
    for name, fields in messages.items():
        message = file.message_type.add(name=name)
        for field, (number, kind, repeated) in fields.items():
            added = message.field.add(name=field, number=number)
            added.label = _FIELD.LABEL_REPEATED if repeated else _FIELD.LABEL_OPTIONAL
            added.type = _TYPES.get(kind, _FIELD.TYPE_MESSAGE)
            if kind not in _TYPES:
                added.type_name = f".{package}.{kind}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{package}.{name}"))
        for name in messages
    }


MAX_NOTHINGS = 4_000_000


def weigh(data: bytes) -> None:
    """BadPayload for a body that would become far more objects than it has bytes of content.

    An empty message takes two bytes, and a hundred in memory; one of its two bytes is zero.
    """
    if len(data) > MAX_NOTHINGS and data.count(b"\0") > MAX_NOTHINGS:
        raise BadPayload("too many empty messages", where="body", hint="send smaller batches")
