"""Checkpoint events: lines of JSON that the training appends after each save."""

from __future__ import annotations

import base64
import logging
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import orjson

log = logging.getLogger(__name__)
_FIELDS = ("ts", "step", "path", "save_s", "files")


def event_of(line: bytes, folder: Path, metadata_bytes: int) -> dict[str, Any] | None:
    """The event a line announces, with the checkpoint's `.metadata` if it can be read.

    The metadata is looked for in `folder/checkpoints/<last part of path>` (folder: where the
    events file lies) and in the path itself; larger than `metadata_bytes` it is left out.
    None for a line that is no event.
    """
    try:
        found = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    if not _is_event(found):
        return None
    event = {name: found[name] for name in _FIELDS if name in found}
    metadata = _metadata(str(found["path"]), folder, metadata_bytes)
    if metadata is not None:
        event["metadata_b64"] = base64.b64encode(metadata).decode()
    return event


def _is_event(found: object) -> bool:
    return (
        isinstance(found, Mapping)
        and isinstance(found.get("ts"), int | float)
        and isinstance(found.get("step"), int)
        and isinstance(found.get("path"), str)
        and isinstance(found.get("files"), Mapping)
    )


def _metadata(path: str, folder: Path, limit_bytes: int) -> bytes | None:
    name = PurePosixPath(path).name
    for place in (folder / "checkpoints" / name, Path(path)):
        file = place / ".metadata"
        try:
            if file.stat().st_size < limit_bytes:
                return file.read_bytes()
            log.warning("%s is larger than %d bytes and not sent", file, limit_bytes)
        except OSError:
            continue
    return None
