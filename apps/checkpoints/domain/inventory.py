"""The inventory of a checkpoint: file names and sizes, its digest and its packed form."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import orjson
import zstandard

from apps.core.errors import BadPayload

MAX_FILES = 200_000
MAX_PACKED_TO_BYTES = 64 * 1024 * 1024
UNKNOWN = ""
"""In place of the digest of a checkpoint whose files nobody listed."""
_VERSION = b"\x01"


def digest(files: Mapping[str, int]) -> str:
    """64 hex digits that change with any name or size, whatever the order of `files`.

    Input of SHA-256: the JSON array of [name, bytes] pairs sorted by name, UTF-8, no spaces. A
    launcher can compute it from a directory listing.
    """
    pairs = sorted(files.items())
    return hashlib.sha256(orjson.dumps(pairs)).hexdigest()


def pack(files: Mapping[str, int]) -> bytes:
    """The inventory as a version byte and zstd-compressed JSON.

    Raises BadPayload beyond MAX_FILES.
    """
    if len(files) > MAX_FILES:
        raise BadPayload(
            f"a checkpoint of {len(files)} files",
            hint=f"announce at most {MAX_FILES} files, only those of the training state",
            where="files",
        )
    return _VERSION + zstandard.ZstdCompressor(level=3).compress(orjson.dumps(dict(files)))


def unpack(packed: bytes) -> dict[str, int]:
    """The inventory that `pack` packed.

    Raises BadPayload for an unknown version or a damaged block.
    """
    body = bytes(packed)
    if body[:1] != _VERSION:
        raise BadPayload("an inventory of an unknown version", hint="upgrade Lastgood")
    try:
        text = zstandard.ZstdDecompressor().decompress(
            body[1:], max_output_size=MAX_PACKED_TO_BYTES
        )
        files = orjson.loads(text)
    except (zstandard.ZstdError, orjson.JSONDecodeError) as error:
        raise BadPayload(f"a damaged inventory: {error}", hint="restore the database") from error
    return {str(name): int(size) for name, size in files.items()}


def differences(
    before: Mapping[str, int], after: Mapping[str, int], *, limit: int = 5
) -> list[str]:
    """What changed between two inventories, in words, at most `limit` files; [] if nothing."""
    names = [n for n in sorted({*before, *after}) if before.get(n) != after.get(n)]
    words = [_change(name, before.get(name), after.get(name)) for name in names[:limit]]
    if len(names) > limit:
        words.append(f"{len(names) - limit} more files differ")
    return words


def _change(name: str, before: int | None, after: int | None) -> str:
    if before is None:
        return f"{name} is new ({after} bytes)"
    if after is None:
        return f"{name} is gone (had {before} bytes)"
    return f"{name} has {after} bytes, had {before}"
