"""The branch directory of a rollback on disk: made once, whole, by however many nodes at a time."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from workers.cli.server import Trouble

MARKER = ".lastgood-branch.json"
SHOWN = 5
READABLE = 0o644


def prepare(payload: Mapping[str, Any], *, check_files: bool = True) -> str:
    """Makes the directory of the branch as the payload plans it; what was done, in words.

    Links and pointer files are made once: when the directory is known to be ours (by its marker)
    nothing is written again, since the training moves its pointers itself. Every step is atomic and
    refuses to replace, so that all nodes of a job may do this at the same time, and a killed one is
    completed by the next. check_files: compare the checkpoint with its inventory first.

    Raises Trouble if the checkpoint is not here or has changed, or the directory is not ours.
    """
    planned = payload.get("branch")
    if not planned:
        return "there is no checkpoint: start at the beginning"
    source, folder = str(payload["checkpoint_uri"]), str(planned["directory"])
    if "://" in source:
        return f"{folder} lies in an object store: nothing to prepare, the arguments say it all"
    if source.rstrip("/").rpartition("/")[0] == folder.rstrip("/"):
        return f"{folder} is where this checkpoint lies: nothing to prepare"
    try:
        return _prepared(payload, planned, check_files)
    except OSError as error:
        raise Trouble(f"{folder} cannot be prepared: {error}") from error


def _prepared(payload: Mapping[str, Any], planned: Mapping[str, Any], check_files: bool) -> str:
    source, folder = Path(payload["checkpoint_uri"]), Path(planned["directory"])
    if not folder.is_absolute() or not source.is_absolute():
        raise Trouble(f"{source} and {folder} must be absolute paths")
    marker = folder / MARKER
    ours = {name: payload[name] for name in ("run", "step", "checkpoint_uri")}
    if _is_ours(marker, ours, str(planned["load"])):
        return f"{folder} was prepared before; nothing was changed"
    if not source.exists():
        raise Trouble(f"{source} is not on this machine", hint="is the file system mounted?")
    if check_files:
        _check_files(source, str(payload.get("inventory_digest") or ""))
    folder.mkdir(parents=True, exist_ok=True)
    _refuse_foreign(folder, planned, marker)
    for name, target in planned["links"]:
        _link(folder / name, Path(target))
    for name, content in planned["files"]:
        _write_once(folder / name, content, marker)
    _write_once(marker, json.dumps({**ours, "order": payload.get("order")}) + "\n", marker)
    _sync(folder)
    made = ", ".join(name for name, _ in (*planned["links"], *planned["files"]))
    return f"{folder} is ready{': ' + made if made else ''}"


def _is_ours(marker: Path, ours: Mapping[str, Any], load: str) -> bool:
    """Whether the directory was prepared for this very start; Trouble if for another one."""
    known = _marked(marker)
    if known is None:
        return False
    if {name: known.get(name) for name in ours} != ours:
        raise Trouble(
            f"{marker.parent} was prepared for step {known.get('step')} of {known.get('run')}",
            hint="move it away, then try again",
        )
    if not Path(load).exists():
        raise Trouble(
            f"{load} leads nowhere: the checkpoint was deleted",
            hint="order a rollback to another checkpoint",
        )
    return True


def _marked(marker: Path) -> Mapping[str, Any] | None:
    """What the marker says; None if there is none."""
    try:
        found = json.loads(marker.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise Trouble(f"{marker} cannot be read: {error}") from error
    return found if isinstance(found, dict) else {}


def _check_files(source: Path, digest: str) -> None:
    """Compares names and sizes with the inventory, if there is one. One stat a file."""
    if not digest:
        return
    files = sorted(_files(source))
    text = json.dumps(files, separators=(",", ":"), ensure_ascii=False)
    if hashlib.sha256(text.encode()).hexdigest() == digest:
        return
    size = sum(size for _, size in files)
    raise Trouble(
        f"{source} is not what its inventory says: {len(files)} files, {size} bytes are here",
        hint="a file is gone, new or of another size; choose another checkpoint, or say "
        "--any-files if the inventory lists only some of them",
    )


def _files(source: Path) -> Iterator[tuple[str, int]]:
    """(relative name, bytes) of every file; of a single file its own name."""
    if source.is_file():
        yield source.name, source.stat().st_size
        return
    for folder, _, names in os.walk(source):
        for name in names:
            path = Path(folder, name)
            yield path.relative_to(source).as_posix(), path.stat().st_size


def _refuse_foreign(folder: Path, planned: Mapping[str, Any], marker: Path) -> None:
    """A directory in which something else lies would be picked up by the framework."""
    expected = {name for name, _ in (*planned["links"], *planned["files"])} | {MARKER}
    foreign = sorted(
        path.name for path in folder.iterdir()
        if path.name not in expected and not path.name.startswith(f"{MARKER}.")
    )  # fmt: skip
    # Another node may have finished meanwhile, and its training saved already.
    if foreign and _marked(marker) is None:
        raise Trouble(
            f"{folder} is not empty: {', '.join(foreign[:SHOWN])}",
            hint="the framework would start from what lies there; move it away, then try again",
        )


def _link(link: Path, target: Path) -> None:
    """A relative link, so that it holds under every mount point. An equal one may be there."""
    real = os.path.realpath(target)
    try:
        link.symlink_to(os.path.relpath(real, os.path.realpath(link.parent)))
    except FileExistsError:
        if os.path.realpath(link) != real:
            raise Trouble(
                f"{link} is there and leads to {os.path.realpath(link)}, not to {real}",
                hint="move the directory away, then try again",
            ) from None


def _write_once(file: Path, content: str, marker: Path) -> None:
    """The file, whole or not at all; one that is there stays, and must be equal unless the branch
    is finished."""
    descriptor, temporary = tempfile.mkstemp(prefix=f"{MARKER}.", dir=file.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as handle:
            handle.write(content)
            handle.flush()
            os.fchmod(descriptor, READABLE)
            os.fsync(descriptor)
        os.link(temporary, file)
    except FileExistsError:
        if file.read_text(encoding="utf-8") != content and _marked(marker) is None:
            raise Trouble(
                f"{file} is there and says something else",
                hint="move the directory away, then try again",
            ) from None
    finally:
        os.unlink(temporary)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
