"""What waits in the stream: an undecoded body and what is known about it. Plain Python."""

from __future__ import annotations

import hashlib
import re
from typing import Final, Literal

import msgspec

from apps.core.errors import BadPayload

BATCH_ID: Final = re.compile(r"[A-Za-z0-9._:-]{1,128}")
ENCODINGS: Final = ("identity", "gzip", "zstd")


class Envelope(msgspec.Struct, frozen=True, array_like=True):
    """One accepted request. body is still compressed. run_id 0: no run (node events).

    It may wait through an upgrade: a new layout gets a new version, fields at the end with a
    default do not. token: the token's name. attempt, writer: for protocols whose bodies do not
    say which process they are of.
    """

    version: Literal[1]
    batch_id: str
    endpoint: str
    encoding: str
    run_id: int
    run_key: str
    token: str
    received_ns: int
    body: bytes
    attempt: int | None = None
    writer: str = ""


_DECODER = msgspec.msgpack.Decoder(Envelope)


def pack(envelope: Envelope) -> bytes:
    """The envelope as bytes."""
    return msgspec.msgpack.encode(envelope)


def unpack(data: bytes) -> Envelope:
    """The envelope; BadPayload on anything else."""
    try:
        return _DECODER.decode(data)
    except msgspec.DecodeError as error:
        raise BadPayload(f"not an envelope: {error}", where="stream entry") from error


def batch_id(given: str | None, *, endpoint: str, run_key: str, body: bytes) -> str:
    """The client's batch id, else a hash of what was sent. BadPayload if it is malformed."""
    if given is None:
        digest = hashlib.sha256(f"{endpoint}\0{run_key}\0".encode())
        digest.update(body)
        return f"sha256:{digest.hexdigest()}"
    if not BATCH_ID.fullmatch(given):
        raise BadPayload(
            "malformed batch id", where="X-Batch-Id", hint="1-128 of A-Z a-z 0-9 . _ : -"
        )
    return given
