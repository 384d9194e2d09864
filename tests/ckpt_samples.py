"""Real checkpoints of recorded runs, for tests (tests/samples/ckpt/README.md)."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import zstandard

FOLDER = Path(__file__).parent / "samples" / "ckpt"
SHARDED = "hang_r5-step-100"
SINGLE = "lrbump-step-600"


@cache
def metadata(name: str = SHARDED) -> bytes:
    """The `.metadata` file of a sample."""
    return zstandard.decompress((FOLDER / f"{name}.metadata.zst").read_bytes())


def inventory(name: str = SHARDED) -> dict[str, int]:
    """File name -> bytes, as the writer announced it."""
    return dict(json.loads((FOLDER / f"{name}.json").read_text())["files"])
