"""The signed order as a file, for launchers that read a shared directory."""

from __future__ import annotations

import fcntl
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote, unquote

from django.conf import settings
from django.db import transaction

from apps.rollbacks import resume, store
from apps.runs import store as runs

_END = ".json"
log = logging.getLogger(__name__)


def path_of(run_key: str) -> Path:
    """Where the order of a run is written."""
    return Path(settings.ORDERS_DIR) / f"{quote(run_key, safe='')}{_END}"


def sync_on_commit(run_id: int) -> None:
    """Brings the file up to date once the surrounding transaction has committed."""
    # robust: a full disk is logged; the order itself is safe in the database.
    transaction.on_commit(lambda: sync(run_id), robust=True)


def sync(run_id: int) -> bool:
    """Writes the file while an order waits for its launcher, else removes it; whether it was wrong.

    Removed as soon as the order was followed: a file that stays would send every later restart
    back again. Whole or not at all: temporary file, fsync, rename. Calls of one directory follow
    each other, and each looks at the order as it is then.
    """
    target = path_of(runs.run_by_id(run_id).key)
    with _locked(target.parent):
        order = store.active(run_id)
        wanted = resume.ordered(order).body if order is not None and order.waiting else None
        found = target.read_bytes() if target.exists() else None
        if wanted == found:
            return False
        if wanted is None:
            target.unlink()
        else:
            _replace(target, wanted)
        _sync_directory(target.parent)
        return True


def sync_all() -> int:
    """Brings every file up to date that a process left behind when it died; how many were wrong.

    Looks at each run with an active order and each file that is there.
    """
    folder = Path(settings.ORDERS_DIR)
    named = [
        runs.get_run(unquote(path.name.removesuffix(_END))) for path in folder.glob(f"*{_END}")
    ]
    run_ids = {*store.active_runs(), *(run.id for run in named if run is not None)}
    return sum(_try_one(run_id) for run_id in sorted(run_ids))


def _try_one(run_id: int) -> bool:
    """As `sync`; a file that cannot be written keeps no other from being written."""
    try:
        return sync(run_id)
    except OSError:
        log.exception("rollbacks.sync_failed", extra={"run": run_id})
        return False


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("a") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        yield


def _replace(target: Path, content: bytes) -> None:
    # One name a run: what a killed process left is overwritten by the next.
    temporary = target.with_name(f".{target.name}.tmp")
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
