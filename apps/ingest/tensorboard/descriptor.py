"""The few messages of a TensorBoard event file that Lastgood reads.

Field numbers are those of TensorFlow's event.proto, summary.proto, tensor.proto and of
TensorBoard's hparams plugin (tensorboard 2.21). A map is a list of entries with key and value.
"""

from __future__ import annotations

from apps.ingest.protobuf import Fields, build

_MESSAGES: dict[str, Fields] = {
    "Dim": {"size": (1, "int", False)},
    "Shape": {"dim": (2, "Dim", True)},
    "Tensor": {
        "dtype": (1, "int", False),
        "shape": (2, "Shape", False),
        "content": (4, "bytes", False),
        "float_val": (5, "float", True),
        "double_val": (6, "double", True),
        "int_val": (7, "int", True),
        "int64_val": (10, "int", True),
        "bool_val": (11, "bool", True),
        "half_val": (13, "int", True),
        "uint32_val": (16, "uint", True),
        "uint64_val": (17, "uint", True),
    },
    "Histogram": {
        "min": (1, "double", False),
        "max": (2, "double", False),
        "num": (3, "double", False),
        "sum": (4, "double", False),
        "sum_squares": (5, "double", False),
    },
    "PluginData": {"name": (1, "bytes", False), "content": (2, "bytes", False)},
    "Metadata": {"plugin": (1, "PluginData", False)},
    "Value": {
        "tag": (1, "bytes", False),
        "simple": (2, "float", False),
        "image": (4, "bytes", False),
        "histogram": (5, "Histogram", False),
        "audio": (6, "bytes", False),
        "tensor": (8, "Tensor", False),
        "metadata": (9, "Metadata", False),
    },
    "Summary": {"value": (1, "Value", True)},
    "SessionLog": {"status": (1, "int", False)},
    "Event": {
        "wall_time": (1, "double", False),
        "step": (2, "int", False),
        "file_version": (3, "bytes", False),
        "summary": (5, "Summary", False),
        "session_log": (7, "SessionLog", False),
    },
    "AnyValue": {
        "number": (2, "double", False),
        "text": (3, "bytes", False),
        "truth": (4, "bool", False),
    },
    "Hparam": {"key": (1, "bytes", False), "value": (2, "AnyValue", False)},
    "SessionStart": {"hparams": (1, "Hparam", True)},
    "HparamsData": {"start": (3, "SessionStart", False)},
}

MESSAGES = build("lastgood_tensorboard", _MESSAGES, "proto2")
