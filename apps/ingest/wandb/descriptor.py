"""The few protobuf messages of a `.wandb` file that Lastgood reads, built in code.

Field numbers are those of `wandb_internal.proto` of wandb 0.31.0.
"""

from __future__ import annotations

from apps.ingest.protobuf import Fields, build

# name -> {field name: (number, type, repeated)}; a type that is no scalar names a message above it.
_MESSAGES: dict[str, Fields] = {
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
    "Git": {"commit": (2, "bytes", False)},
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
        "git": (21, "Git", False),
    },
    "Alert": {
        "title": (1, "bytes", False),
        "text": (2, "bytes", False),
        "level": (3, "bytes", False),
        "wait_ms": (4, "int", False),
    },
    "Exit": {"exit_code": (1, "int", False), "runtime": (2, "int", False)},
    "Environment": {
        "started_at": (3, "Time", False),
        "program": (6, "bytes", False),
        "host": (12, "bytes", False),
        "writer_id": (199, "bytes", False),
    },
}


MESSAGES = build("lastgood_wandb", _MESSAGES)
