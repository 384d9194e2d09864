"""What an OTLP/HTTP client is answered, as protobuf or as JSON like its request. Plain Python."""

from __future__ import annotations

from typing import Final

import orjson

from apps.ingest import protobuf

JSON: Final = "application/json"
PROTOBUF: Final = "application/x-protobuf"
_CODES: Final = {400: 3, 401: 16, 403: 7, 411: 3, 413: 8, 415: 3, 429: 8, 503: 14}
"""HTTP status -> google.rpc.Code."""
_MESSAGES = protobuf.build(
    "lastgood.otlp.answer",
    {
        "PartialSuccess": {"rejected": (1, "int", False), "message": (2, "bytes", False)},
        "Response": {"partial_success": (1, "PartialSuccess", False)},
        "Status": {"code": (1, "int", False), "message": (2, "bytes", False)},
    },
)


def success(content_type: str, rejected: int, message: str) -> bytes:
    """ExportLogsServiceResponse: empty, or with what was rejected and why."""
    if content_type == JSON:
        partial = {"rejectedLogRecords": str(rejected), "errorMessage": message}
        return orjson.dumps({"partialSuccess": partial} if rejected else {})
    if not rejected:
        return b""
    partial_success = _MESSAGES["PartialSuccess"](rejected=rejected, message=message.encode())
    answer: bytes = _MESSAGES["Response"](partial_success=partial_success).SerializeToString()
    return answer


def status(content_type: str, http_status: int, message: str) -> bytes:
    """google.rpc.Status."""
    code = _CODES.get(http_status, 2)
    if content_type == JSON:
        return orjson.dumps({"code": code, "message": message})
    answer: bytes = _MESSAGES["Status"](code=code, message=message.encode()).SerializeToString()
    return answer
