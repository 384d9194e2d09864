"""Files that a `wandb` run uploads: the few small ones that tell something are kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from apps.ingest.expiry import drop_expired
from apps.ingest.store import count
from apps.ingest.wandb import uploads_store
from apps.ingest.wandb.facts import parse_metadata
from apps.ingest.wandb.places import note_place
from apps.ingest.wandb.uploads_store import Upload, UploadInfo
from apps.runs import store as runs
from apps.runs.records import Progress

METADATA: Final = "wandb-metadata.json"
KEPT: Final = frozenset({METADATA, "requirements.txt", "config.yaml", "conda-environment.yaml"})
"""Where a process runs, with which packages and which configuration."""
MAX_BYTES: Final = 1 << 20
_KINDS: Final = {"media": "media", "artifact": "artifact", "code": "code", "logs": "console"}
_CONSOLE: Final = ("output.log", "output_")


def kind_of(name: str) -> str:
    """What a file is, in one word of few: a sender's names never become names of counters."""
    if name in KEPT:
        return "too large"
    if name.startswith(_CONSOLE):
        return "console"
    return _KINDS.get(name.partition("/")[0], "other") if "/" in name else "other"


def keep(run_id: int, attempt: int, name: str, content: bytes) -> None:
    """Keeps a file of KEPT, in a transaction of its own; sent again it replaces itself.

    The metadata also tell where the process runs, which old clients say nowhere else. Those of an
    earlier attempt, which a `wandb sync` may send, change nothing that the run says of itself.
    """
    with transaction.atomic():
        runs.lock_run(run_id)
        uploads_store.put(run_id, attempt, name, content)
        if name == METADATA:
            facts = parse_metadata(content)
            newest = runs.attempt(run_id, None)
            config = facts.labels if newest is None or newest.number <= attempt else {}
            runs.note_progress(run_id, attempt, Progress(config=config), timezone.now())
            note_place(run_id, attempt, facts)


def drop(run_id: int, names: Sequence[str]) -> None:
    """Counts files that are not kept."""
    kinds = Counter(f"files_not_kept: {kind_of(name)}" for name in names)
    count(run_id, {"files_not_kept": len(names), **kinds})


def uploads(run_id: int) -> list[UploadInfo]:
    """The kept files of a run by name, each as its newest attempt uploaded it."""
    return uploads_store.newest(run_id)


def upload(run_id: int, name: str) -> Upload | None:
    """One kept file as the newest attempt uploaded it; None if there is none."""
    return uploads_store.get(run_id, name)


def drop_old(now: datetime) -> int:
    """Drops files that were uploaded KEEP_UPLOADS_DAYS ago, a few at a time; how many.

    Each run counts its own as `uploads_expired`.
    """
    days = settings.KEEP_UPLOADS_DAYS
    return drop_expired(uploads_store.forget, now, days=days, counter="uploads_expired")
