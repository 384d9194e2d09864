"""What the pages of storage roots show and read from their form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.http import QueryDict

from apps.checkpoints import roots_store
from apps.checkpoints.root_records import Look, RootInfo, RootRule
from apps.checkpoints.roots import EVERY_S
from apps.checkpoints.storage.mounts import WARNINGS, Kind
from apps.core.errors import AppError
from apps.core.words import whole
from apps.runs import store as runs

KINDS = {
    Kind.LOCAL: "local disk",
    Kind.SHARED: "shared file system",
    Kind.BUCKET_MOUNT: "mounted bucket",
    Kind.MEMORY: "memory",
    Kind.BUCKET: "bucket",
    Kind.UNKNOWN: "file system of an unknown kind",
}
OUTCOMES = {
    "whole": ("ok", "ok"),
    "partial": ("triangle", "warn"),
    "failed": ("octagon", "critical"),
}


@dataclass(frozen=True, slots=True)
class Row:
    """A root as the list shows it. run: its key, "" for a shared root."""

    info: RootInfo
    run: str
    looking: bool
    waits: bool
    icon: str
    tone: str
    kind: str
    used_percent: int | None


def rows(now_ns: int) -> list[Row]:
    """Every root, by address."""
    infos = roots_store.roots()
    keys = runs.keys([info.rule.run_id for info in infos if info.rule.run_id is not None])
    return [row_of(info, keys.get(info.rule.run_id or 0, ""), now_ns) for info in infos]


def row_of(info: RootInfo, run: str, now_ns: int) -> Row:
    """One root."""
    last = info.last
    icon, tone = OUTCOMES[last.outcome.value] if last else ("clock", "muted")
    return Row(
        info=info,
        run=run,
        looking=info.looking(now_ns),
        waits=info.waits(now_ns),
        icon=icon,
        tone=tone,
        kind=KINDS[Kind(last.kind)] if last else "",
        used_percent=_used_percent(last),
    )


def allowed() -> list[str]:
    """The folders of the setting, as people write them."""
    return [place.uri for place in settings.CHECKPOINT_ROOTS]


def look_context(info: RootInfo) -> dict[str, Any]:
    """What the page of a root says of its last look."""
    last = info.last
    if last is None:
        return {"lists": [], "warning": ""}
    run_ids = {one.run_id for one in last.beside if one.run_id is not None}
    keys = runs.keys(sorted(run_ids))
    return {
        "lists": [(title, names) for title, names in _lists(last) if names],
        "warning": WARNINGS.get(Kind(last.kind), ""),
        "beside": [(one, keys.get(one.run_id or 0, "")) for one in last.beside],
        "free_gb": [room.free_bytes / 1e9 for room in info.rooms],
    }


def _lists(last: Look) -> list[tuple[str, tuple[str, ...]]]:
    return [
        ("Links that lead out of the root: not followed", last.outside),
        ("Could not be looked at", last.unread),
        ("Folders that are no run of this project", last.unknown),
        ("Checkpoints of which not everything could be listed: not judged", last.part),
        ("Checkpoints whose name tells no step: not registered", last.unnumbered),
    ]


def read_form(sent: QueryDict) -> RootRule:
    """What was typed. Raises AppError for a run that there is not and an interval that is none."""
    key = sent.get("run", "").strip()
    run_id = None
    if sent.get("whose") != "project":
        found = runs.get_run(key) if key else None
        if found is None:
            hint = "type the key of a run that Lastgood knows, or choose the runs of a project"
            raise AppError(f'there is no run "{key[:80]}"', where="run", hint=hint)
        run_id = found.id
    return RootRule(
        uri=sent.get("uri", ""),
        run_id=run_id,
        project="" if run_id else sent.get("project", "").strip(),
        pattern="" if run_id else sent.get("pattern", ""),
        every_s=_seconds(sent.get("every", "")),
        enabled=bool(sent.get("enabled")),
    )


def _seconds(text: str) -> int:
    found = whole(text.strip(), 10**9) if text.strip() else EVERY_S
    if found is None:
        raise AppError(f'"{text[:40]}" is no number of seconds', where="every", hint="digits only")
    return found


def _used_percent(last: Look | None) -> int | None:
    if last is None or not last.total_bytes or last.free_bytes is None:
        return None
    return round(100 * (1 - last.free_bytes / last.total_bytes))
