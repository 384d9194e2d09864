"""The inventory of a checkpoint: names, sizes and stamps of its files, its digest, its packed form.

A stamp is what a storage says of a file beside its size: when it was written, or its entity tag.
Stamps tell a file that was written again with the same size; only they do.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import orjson
import zstandard

from apps.core.errors import BadPayload

MAX_FILES = 200_000
MAX_PACKED_TO_BYTES = 64 * 1024 * 1024
UNKNOWN = ""
"""In place of the digest of a checkpoint whose files nobody listed."""
_SIZES, _STAMPED = b"\x01", b"\x02"


@dataclass(frozen=True, slots=True)
class Stamp:
    """A file as it was seen. mtime_ns: of a file system; etag: of an object store; None: not."""

    size: int
    mtime_ns: int | None = None
    etag: str | None = None

    @property
    def bare(self) -> bool:
        """Whether only the size is known."""
        return self.mtime_ns is None and self.etag is None


Inventory = Mapping[str, Stamp]
"""File name, relative to the directory of the step -> what was seen of it."""


class Listed(Protocol):
    """Anything that a listing says of a file."""

    @property
    def size(self) -> int: ...
    @property
    def mtime_ns(self) -> int | None: ...
    @property
    def etag(self) -> str | None: ...


def of_sizes(files: Mapping[str, int]) -> dict[str, Stamp]:
    """An inventory without stamps, as announcements bring it."""
    return {name: Stamp(size) for name, size in files.items()}


def of_listing(files: Mapping[str, Listed]) -> dict[str, Stamp]:
    """The inventory of a listing."""
    return {name: Stamp(file.size, file.mtime_ns, file.etag) for name, file in files.items()}


def sizes(files: Inventory) -> dict[str, int]:
    """File name -> bytes."""
    return {name: stamp.size for name, stamp in files.items()}


def digest(files: Mapping[str, int]) -> str:
    """64 hex digits that change with any name or size, whatever the order of `files`.

    Input of SHA-256: the JSON array of [name, bytes] pairs sorted by name, UTF-8, no spaces. A
    launcher can compute it from a directory listing.
    """
    pairs = sorted(files.items())
    return hashlib.sha256(orjson.dumps(pairs)).hexdigest()


def pack(files: Inventory) -> bytes:
    """The inventory as a version byte and zstd-compressed JSON.

    Without stamps it is packed as it always was. Raises BadPayload beyond MAX_FILES.
    """
    if len(files) > MAX_FILES:
        raise BadPayload(
            f"a checkpoint of {len(files)} files",
            hint=f"announce at most {MAX_FILES} files, only those of the training state",
            where="files",
        )
    bare = all(stamp.bare for stamp in files.values())
    rows: dict[str, Any] = {
        name: stamp.size if bare else [stamp.size, stamp.mtime_ns, stamp.etag]
        for name, stamp in files.items()
    }
    body = zstandard.ZstdCompressor(level=3).compress(orjson.dumps(rows))
    return (_SIZES if bare else _STAMPED) + body


def unpack(packed: bytes) -> dict[str, Stamp]:
    """The inventory that `pack` packed.

    Raises BadPayload for an unknown version or a damaged block.
    """
    body = bytes(packed)
    if body[:1] not in (_SIZES, _STAMPED):
        raise BadPayload("an inventory of an unknown version", hint="upgrade Lastgood")
    try:
        text = zstandard.ZstdDecompressor().decompress(
            body[1:], max_output_size=MAX_PACKED_TO_BYTES
        )
        rows = orjson.loads(text)
    except (zstandard.ZstdError, orjson.JSONDecodeError) as error:
        raise BadPayload(f"a damaged inventory: {error}", hint="restore the database") from error
    if body[:1] == _SIZES:
        return {str(name): Stamp(int(size)) for name, size in rows.items()}
    return {str(name): Stamp(*row) for name, row in rows.items()}


def differences(
    before: Mapping[str, int], after: Mapping[str, int], *, limit: int = 5
) -> list[str]:
    """What changed between two inventories, in words, at most `limit` files; [] if nothing."""
    names = [n for n in sorted({*before, *after}) if before.get(n) != after.get(n)]
    return _shortened([_change(n, before.get(n), after.get(n)) for n in names[:limit]], len(names))


def damage(taken: Inventory, found: Inventory, *, limit: int = 5) -> list[str]:
    """What a checkpoint has lost since its inventory was taken, in words; [] if nothing.

    A file is gone, has another size or, with the same size, another entity tag. Files that came
    later hurt no restore: results of evaluations and scripts lie beside the state.
    """
    names = [n for n in sorted(taken) if _is_damaged(taken[n], found.get(n))]
    words = [_loss(name, taken[name], found.get(name)) for name in names[:limit]]
    return _shortened(words, len(names))


def rewritten(taken: Inventory, found: Inventory) -> list[str]:
    """Files of the same size and a later time, sorted: written again, or only touched.

    Where both have an entity tag, the tag decides and the time says nothing.
    """
    return [name for name in sorted(taken) if name in found and _later(taken[name], found[name])]


def stamped(taken: Inventory, found: Inventory) -> dict[str, Stamp]:
    """The inventory with the stamps of a listing where it had none; names and sizes stay."""
    return {
        name: found[name] if stamp.bare and _same_size(stamp, found.get(name)) else stamp
        for name, stamp in taken.items()
    }


def _same_size(stamp: Stamp, found: Stamp | None) -> bool:
    return found is not None and found.size == stamp.size


def _tagged(a: Stamp, b: Stamp) -> bool:
    return a.etag is not None and b.etag is not None


def _is_damaged(stamp: Stamp, found: Stamp | None) -> bool:
    if found is None or found.size != stamp.size:
        return True
    return _tagged(stamp, found) and stamp.etag != found.etag


def _later(stamp: Stamp, found: Stamp) -> bool:
    if _tagged(stamp, found) or stamp.mtime_ns is None or found.mtime_ns is None:
        return False
    return stamp.size == found.size and found.mtime_ns > stamp.mtime_ns


def _loss(name: str, stamp: Stamp, found: Stamp | None) -> str:
    if found is not None and found.size == stamp.size:
        return f"{name} was replaced by another file of the same size"
    return _change(name, stamp.size, None if found is None else found.size)


def _shortened(words: list[str], all_names: int) -> list[str]:
    more = all_names - len(words)
    return [*words, f"{more} more files differ"] if more else words


def _change(name: str, before: int | None, after: int | None) -> str:
    if before is None:
        return f"{name} is new ({after} bytes)"
    if after is None:
        return f"{name} is gone (had {before} bytes)"
    return f"{name} has {after} bytes, had {before}"
