"""The manifest of a W&B artifact, and which checkpoint it speaks of. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final
from urllib.parse import unquote

import msgspec

from apps.checkpoints.domain.steps import MAX_STEP, step_of_name, step_of_parts
from apps.checkpoints.domain.verify import verify
from apps.core.records import CheckpointSeen
from apps.ingest import frames

CHECKPOINT_TYPES: Final = frozenset(
    {"model", "models", "checkpoint", "checkpoints", "ckpt", "model-checkpoint", "weights"}
)
OTHER_TYPES: Final = frozenset({"dataset", "code", "job"})
_STEP_KEYS: Final = ("step", "global_step", "iteration", "train/global_step", "trainer/global_step")
_OWN: Final = ("wandb-artifact:", "wandb-client-artifact:")


class _Entry(msgspec.Struct, frozen=True):
    digest: str
    ref: str | None = None
    size: Annotated[int, msgspec.Meta(ge=0, le=2**62)] | None = None


class _Manifest(msgspec.Struct, frozen=True):
    contents: dict[str, _Entry]


@dataclass(frozen=True, slots=True)
class Reference:
    """A file or folder that an artifact points at. size: None if the client did not look."""

    url: str
    size: int | None


@dataclass(frozen=True, slots=True)
class Logged:
    """What the client says of an artifact. history_step: where the run was; None also at its
    start."""

    type: str
    name: str
    aliases: Sequence[str]
    metadata: Mapping[str, Any]
    history_step: int | None
    logged_ns: int


def parse_manifest(content: bytes) -> list[Reference]:
    """The references of a manifest; files that were to be uploaded are left out. BadPayload.

    Without a checksum the client does not look at an object store: the address is the digest then.
    """
    found = frames.decode(content, _Manifest, inside="manifest")
    return [
        Reference(entry.ref, None if entry.digest == entry.ref else entry.size or 0)
        for entry in found.contents.values()
        if entry.ref and not entry.ref.startswith(_OWN)
    ]


def checkpoint_of(logged: Logged, references: Sequence[Reference]) -> CheckpointSeen | None:
    """The checkpoint an artifact speaks of; None if it is none.

    It is one if it has references, is none of OTHER_TYPES, and its type is one of CHECKPOINT_TYPES,
    or a framework's mark is among its files, or its path names a step.
    """
    kind = logged.type.strip().lower()
    if not references or kind in OTHER_TYPES:
        return None
    parts = [_parts(reference.url) for reference in references]
    root, of_path = _root(references, parts)
    files = _files(references, parts, root)
    marked = files is not None and verify(files).framework != "unknown"
    if kind not in CHECKPOINT_TYPES and not marked and of_path is None:
        return None
    step, doubt = _step(logged, of_path)
    return CheckpointSeen(
        step=step,
        path="/".join(root) or "/",
        saved_at_ns=logged.logged_ns,
        save_s=None,
        files=files,
        doubt=doubt,
    )


def _parts(url: str) -> list[str]:
    """The address between its slashes; of a local file the path, as the client finds it."""
    local = url.startswith("file:")
    text = unquote(url.removeprefix("file:").removeprefix("//")) if local else url
    return text.rstrip("/").split("/")


def _root(
    references: Sequence[Reference], paths: Sequence[list[str]]
) -> tuple[list[str], int | None]:
    """(path of the checkpoint, its step): the folder that all files share.

    A lone file is the checkpoint itself, unless it lies in a folder that names a step.
    """
    shared = _shared(paths)
    named = step_of_parts(shared)
    if len(paths) > 1:
        return shared, named[1] if named else _only(step_of_name(path[-1]) for path in paths)
    folder = step_of_parts(shared[:-1])
    if folder and folder[0] == len(shared) - 2 and references[0].size is not None:
        return shared[:-1], folder[1]
    return shared, named[1] if named else None


def _shared(paths: Sequence[list[str]]) -> list[str]:
    """The parts that all paths begin with."""
    first, last = min(paths), max(paths)
    for at, (a, b) in enumerate(zip(first, last, strict=False)):
        if a != b:
            return first[:at]
    return first[: len(last)]


def _files(
    references: Sequence[Reference], paths: Sequence[list[str]], root: list[str]
) -> dict[str, int] | None:
    """Name below the root -> bytes; None if the client did not look at one of them."""
    files = dict[str, int]()
    for reference, path in zip(references, paths, strict=True):
        if reference.size is None:
            return None
        files["/".join(path[len(root) :]) or path[-1]] = reference.size
    return files


def _step(logged: Logged, of_path: int | None) -> tuple[int, str]:
    """(step, who says another one). The path goes first: an asynchronous save is logged later
    than its step (Megatron-Bridge#5738). The client counts on when it has logged a step."""
    said = [
        ("its path", of_path),
        ("its name", step_of_name(logged.name)),
        ("an alias", _only(step_of_name(alias) for alias in logged.aliases)),
        ("its metadata", _only(_whole(logged.metadata.get(key)) for key in _STEP_KEYS)),
        ("the W&B step", logged.history_step),
    ]
    known = [(who, step) for who, step in said if step is not None]
    if not known:
        return 0, "nothing says its step, so that 0 was taken"
    (source, step), others = known[0], known[1:]
    against = [
        f"{who} says {other}"
        for who, other in others
        if other != step and (who, other) != ("the W&B step", step + 1)
    ]
    return step, f"{source} says step {step}, {', '.join(against)}" if against else ""


def _only(steps: Iterable[int | None]) -> int | None:
    """The one step that is said; None if none or several are."""
    found = {step for step in steps if step is not None}
    return found.pop() if len(found) == 1 else None


def _whole(value: Any) -> int | None:
    whole = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_STEP
    return value if whole else None
