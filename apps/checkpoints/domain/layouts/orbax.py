"""Orbax and MaxText: `N/` with one folder for each item, `_CHECKPOINT_METADATA`, commit files.

A save is made under `N.orbax-checkpoint-tmp[-...]` and renamed; where a rename is not atomic,
`commit_success.txt` is written after it. A commit time of 0 or null is no commit. Source: orbax
0.12.8, run; 3ff7b24a, read.
"""

from __future__ import annotations

from typing import Any

import orjson

from apps.checkpoints.domain.codes import Code, finding
from apps.checkpoints.domain.layouts.base import FoundStep, Layout, Mark
from apps.checkpoints.domain.reading import Source, Unreadable, Vanished
from apps.checkpoints.domain.steps import step_of_name
from apps.checkpoints.domain.tree import Folder

METADATA = "_CHECKPOINT_METADATA"
COMMITTED = "commit_success.txt"
_ITEM = frozenset(("_METADATA", "manifest.ocdbt", "_sharding", COMMITTED))
MAX_METADATA_BYTES = 1024 * 1024


def _claims(folder: Folder) -> bool:
    if METADATA in folder.files:
        return True
    items = any(_ITEM & inside.files.keys() for inside in folder.folders.values())
    return bool(_ITEM & folder.files.keys()) or (folder.called.isdigit() and items)


def _step(called: str) -> int | None:
    if called.isascii() and called.isdigit() and len(called) < 19:
        return int(called)
    return step_of_name(called)


def _marked(found: FoundStep, source: Source) -> Mark:
    if METADATA in found.files:
        if found.files[METADATA].size == 0:
            return Mark(False)
        unfinished = _commit_time(found, source)
        if unfinished is not None:
            return unfinished
    with_items = {name.partition("/")[0] for name in found.files if "/" in name}
    committed = {n.rpartition("/")[0] for n in found.files if n.rpartition("/")[2] == COMMITTED}
    if committed and "" not in committed:
        absent = COMMITTED
    elif committed and with_items - committed:
        absent = f"{sorted(with_items - committed)[0]}/{COMMITTED}"
    else:
        return Mark(True)
    text = f"no {absent}, though other parts of the checkpoint have theirs"
    return Mark(False, (finding(Code.NO_COMMIT_MARKER, text),))


def _commit_time(found: FoundStep, source: Source) -> Mark | None:
    """The mark if `_CHECKPOINT_METADATA` decides; None if it says that the save was committed."""
    try:
        content = source.one(found.place(METADATA), 0, MAX_METADATA_BYTES)
    except (Vanished, Unreadable) as error:
        return Mark(None, unchecked=(f"when it was committed: {METADATA}: {error.message}",))
    try:
        fields: Any = orjson.loads(content)
    except orjson.JSONDecodeError:
        return Mark(False)
    stated = fields.get("commit_timestamp_nsecs", 0) if isinstance(fields, dict) else 0
    if isinstance(stated, int) and stated > 0:
        return None
    text = f"{METADATA} has no commit time: the save was not finished"
    return Mark(False, (finding(Code.NO_COMMIT_MARKER, text),))


LAYOUT = Layout("orbax", _claims, _marked, step_of=_step)
