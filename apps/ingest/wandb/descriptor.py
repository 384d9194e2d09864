"""The few protobuf messages of a `.wandb` file that Lastgood reads, built in code.

Field numbers are those of `wandb_internal.proto` of wandb 0.31.0. Strings are declared as bytes:
the wire form is the same and invalid UTF-8 cannot make a record unreadable. Messages live in a
pool of their own, so that the real `wandb` package may be loaded in the same process.
"""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_FIELD = descriptor_pb2.FieldDescriptorProto
_TYPES = {"bytes": _FIELD.TYPE_BYTES, "int": _FIELD.TYPE_INT64, "bool": _FIELD.TYPE_BOOL}
_PACKAGE = "lastgood_wandb"

# name -> {field name: (number, type, repeated)}; a type that is no scalar names a message above it.
_MESSAGES: dict[str, dict[str, tuple[int, str, bool]]] = {
    "Time": {"seconds": (1, "int", False), "nanos": (2, "int", False)},
    "Item": {
        "key": (1, "bytes", False),
        "nested_key": (2, "bytes", True),
        "value_json": (16, "bytes", False),
    },
    "Step": {"num": (1, "int", False)},
    "History": {"item": (1, "Item", True), "step": (2, "Step", False)},
    "Updates": {"update": (1, "Item", True), "remove": (2, "Item", True)},
    "Stats": {"timestamp": (2, "Time", False), "item": (3, "Item", True)},
    "Output": {
        "output_type": (1, "int", False),
        "timestamp": (2, "Time", False),
        "line": (3, "bytes", False),
    },
    "Run": {
        "run_id": (1, "bytes", False),
        "entity": (2, "bytes", False),
        "project": (3, "bytes", False),
        "config": (4, "bytes", False),
        "display_name": (8, "bytes", False),
        "host": (13, "bytes", False),
        "starting_step": (14, "int", False),
        "start_time": (17, "Time", False),
        "resumed": (18, "bool", False),
    },
    "Exit": {"exit_code": (1, "int", False), "runtime": (2, "int", False)},
    "Environment": {
        "started_at": (3, "Time", False),
        "program": (6, "bytes", False),
        "host": (12, "bytes", False),
        "writer_id": (199, "bytes", False),
    },
}


def _build() -> dict[str, type[Any]]:
    file = descriptor_pb2.FileDescriptorProto(
        name=f"{_PACKAGE}.proto", package=_PACKAGE, syntax="proto3"
    )
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, (number, kind, repeated) in fields.items():
            added = message.field.add(name=field, number=number)
            added.label = _FIELD.LABEL_REPEATED if repeated else _FIELD.LABEL_OPTIONAL
            added.type = _TYPES.get(kind, _FIELD.TYPE_MESSAGE)
            if kind not in _TYPES:
                added.type_name = f".{_PACKAGE}.{kind}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{name}"))
        for name in _MESSAGES
    }


MESSAGES = _build()
