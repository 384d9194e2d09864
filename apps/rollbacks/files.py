"""The signed order as a file, for launchers that read a shared directory."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from urllib.parse import quote

from django.conf import settings
from django.db import transaction

from apps.rollbacks import resume, store
from apps.runs import store as runs


def path_of(run_key: str) -> Path:
    """Where the order of a run is written."""
    return Path(settings.ORDERS_DIR) / f"{quote(run_key, safe='')}.json"


def sync_on_commit(run_id: int) -> None:
    """Brings the file up to date once the surrounding transaction has committed."""
    # robust: a full disk is logged; the order itself is safe in the database.
    transaction.on_commit(lambda: sync(run_id), robust=True)


def sync(run_id: int) -> None:
    """Writes the file while an order waits for its launcher, else removes it.

    Removed as soon as the order was followed: a file that stays would send every later restart
    back again. Whole or not at all: temporary file, fsync, rename. Calls
    of one run follow each other, and each looks at the order as it is then.
    """
    target = path_of(runs.run_by_id(run_id).key)
    target.parent.mkdir(parents=True, exist_ok=True)
    with (target.parent / ".lock").open("a") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        order = store.active(run_id)
        if order is None or not order.waiting:
            target.unlink(missing_ok=True)
        else:
            _replace(target, resume.ordered(order).body)
        _sync_directory(target.parent)


def _replace(target: Path, content: bytes) -> None:
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    with temporary.open("wb") as handle:
        handle.write(content)
        handle.flush()
        os.fsync(handle.fileno())
    temporary.replace(target)


def _sync_directory(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
