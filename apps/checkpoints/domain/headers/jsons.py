"""State that frameworks keep as JSON beside the tensors: is it there to its end, does it agree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from apps.checkpoints.domain.codes import Code, finding
from apps.checkpoints.domain.headers.base import Seen
from apps.checkpoints.domain.reading import Part
from apps.checkpoints.domain.tree import joined

MAX_BYTES = 16 * 1024 * 1024
_NAMES = frozenset(
    (
        ".metadata.json",
        "_CHECKPOINT_METADATA",
        "_METADATA",
        "_sharding",
        "config.json",
        "integrity.json",
        "metadata.json",
        "trainer_state.json",
    )
)


def check(seen: Seen) -> None:
    """Every such file parses, names the step it lies in, and names only files that are there."""
    files = seen.found.files
    names = [n for n, stat in files.items() if n.rpartition("/")[2] in _NAMES and stat.size]
    for name in names:
        if files[name].size > MAX_BYTES:
            seen.skip("too large to be parsed", name)
            continue
        for content in seen.read([Part(name, 0, MAX_BYTES)]).values():
            try:
                fields: Any = orjson.loads(content)
            except orjson.JSONDecodeError:
                seen.add(Code.BAD_HEADER, "that is no JSON, or not all of it", name)
                continue
            if isinstance(fields, dict):
                _agrees(seen, name, fields)


def _agrees(seen: Seen, name: str, fields: Mapping[str, Any]) -> None:
    folder, _, last = name.rpartition("/")
    if last == "trainer_state.json" and not folder:
        stated = fields.get("global_step")
        if seen.found.step is not None and isinstance(stated, int) and stated != seen.found.step:
            text = f"{name} says step {stated}, its folder says step {seen.found.step}"
            seen.findings.append(finding(Code.STEP_MISMATCH, text))
    listed = fields.get("files") if last == "integrity.json" else None
    for file in listed if isinstance(listed, dict) else ():
        if joined(folder, str(file)) not in seen.found.files:
            seen.add(Code.MISSING_SHARD, "named by integrity.json but absent", joined(folder, file))
