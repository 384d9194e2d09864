"""Builders for `.wandb` bytes: records, the framing around them, and the body the agent posts."""

import json
import struct
import zlib

from apps.ingest.wandb.descriptor import MESSAGES
from apps.ingest.wandb.wire import BLOCK_BYTES, FIRST, FULL, HEADER, LAST, MIDDLE

NUMBERS = {"history": 2, "summary": 3, "config": 5, "stats": 7, "output": 13, "run": 17, "exit": 18}


def _varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def record(kind, payload, num=1):
    """A Record whose oneof holds `payload` (a message or its bytes)."""
    data = payload if isinstance(payload, bytes) else payload.SerializeToString()
    return (
        b"\x08" + _varint(num) + _varint(NUMBERS.get(kind, kind) << 3 | 2) + _varint(len(data))
    ) + data


def items(**texts):
    """Protobuf items with the JSON texts as given, nested key "a/b" as one key."""
    return [
        MESSAGES["Item"](nested_key=[key.encode()], value_json=text.encode())
        for key, text in texts.items()
    ]


def history(values, *, step=None):
    """A history record; values: key -> anything json can write, or bytes taken as JSON text."""
    parts = [
        MESSAGES["Item"](
            nested_key=[part.encode() for part in (key if isinstance(key, tuple) else (key,))],
            value_json=value if isinstance(value, bytes) else json.dumps(value).encode(),
        )
        for key, value in values.items()
    ]
    message = MESSAGES["History"](item=parts)
    if step is not None:
        message.step.num = step
    return record("history", message)


def frame(records):
    """The bytes of a `.wandb` file that holds `records`."""
    out = bytearray(HEADER)
    for data in records:
        _append(out, data)
    return bytes(out)


def _append(out, data):
    begun = False
    while True:
        left = BLOCK_BYTES - len(out) % BLOCK_BYTES
        if left < 7:
            out.extend(bytes(left))
            left = BLOCK_BYTES
        piece, data = data[: left - 7], data[left - 7 :]
        kind = (MIDDLE if data else LAST) if begun else (FIRST if data else FULL)
        crc = zlib.crc32(bytes([kind]) + piece)
        out.extend(struct.pack("<IHB", crc, len(piece), kind) + piece)
        begun = True
        if not data:
            return


def body(records, **header):
    """The body of POST /wandb."""
    head = {
        "v": 1,
        "attempt": 0,
        "file": "run-x.wandb",
        "node": None,
        "first_record": 0,
        "lengths": [len(data) for data in records],
    }
    return json.dumps(head | header).encode() + b"\n" + b"".join(records)
