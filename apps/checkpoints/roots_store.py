"""Every statement against storage roots and what was seen below them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from apps.checkpoints.models import ScannedStep, StorageRoot
from apps.checkpoints.root_records import MAX_ROOMS, Look, Room, RootInfo, RootRule
from apps.core import sql
from apps.core.plain import packed

MAX_ROOTS = 500
MAX_KNOWN = 20_000


@dataclass(frozen=True, slots=True)
class Seen:
    """How a step looked when its root was looked at. broken: with a fatal finding. numbered: its
    name tells a step."""

    run_id: int
    place_key: str
    fingerprint: str
    broken: bool
    numbered: bool


def one_at_a_time() -> None:
    """Holds off everybody else who adds roots until the transaction ends."""
    sql.one_at_a_time("checkpoints.roots")


def roots() -> list[RootInfo]:
    """All roots by address, at most MAX_ROOTS."""
    return [_info(row) for row in StorageRoot.objects.order_by("uri", "pk")[:MAX_ROOTS]]


def count() -> int:
    """How many there are."""
    return StorageRoot.objects.count()


def get(root_id: int) -> RootInfo | None:
    """One root."""
    row = StorageRoot.objects.filter(pk=root_id).first()
    return _info(row) if row else None


def of_run(run_id: int, project: str) -> list[RootInfo]:
    """The roots where checkpoints of a run may lie: its own and those of its project."""
    return [r for r in roots() if r.rule.run_id == run_id or _shared(r.rule, project)]


def _shared(rule: RootRule, project: str) -> bool:
    return rule.run_id is None and rule.project == project


def taken(rule: RootRule, but: int = 0) -> bool:
    """Whether another root says the same."""
    same = StorageRoot.objects.filter(
        uri=rule.uri, run_id=rule.run_id, project=rule.project, pattern=rule.pattern
    )
    return same.exclude(pk=but).exists()


def add(rule: RootRule, actor: str, now_ns: int) -> int:
    """A new root's number."""
    row = StorageRoot(**_said(rule), changed_by=actor, changed_at_ns=now_ns, next_at_ns=now_ns)
    row.save()
    return row.pk


def change(root_id: int, version: int, rule: RootRule, actor: str, now_ns: int) -> bool:
    """False if `version` is no longer the newest. It is looked at soon, and all of it is read."""
    said = {**_said(rule), "version": version + 1, "changed_by": actor, "changed_at_ns": now_ns}
    rows = StorageRoot.objects.filter(pk=root_id, version=version)
    changed = rows.update(**said, next_at_ns=now_ns)
    if changed:
        ScannedStep.objects.filter(root_id=root_id).delete()
    return changed == 1


def remove(root_id: int) -> bool:
    """With what was seen below it; False if there was none. Checkpoints stay registered."""
    ScannedStep.objects.filter(root_id=root_id).delete()
    return StorageRoot.objects.filter(pk=root_id).delete()[0] > 0


def hurry(root_id: int, now_ns: int) -> None:
    """The next look is due now."""
    StorageRoot.objects.filter(pk=root_id).update(next_at_ns=now_ns)


def due(now_ns: int, limit: int = 50) -> list[int]:
    """Roots to look at, those that wait longest first."""
    rows = StorageRoot.objects.filter(
        enabled=True, next_at_ns__lte=now_ns, claimed_until_ns__lt=now_ns
    )
    return list(rows.order_by("next_at_ns", "pk").values_list("pk", flat=True)[:limit])


def claim(root_id: int, now_ns: int, until_ns: int) -> bool:
    """Takes a root for one look; False if it is not due, or somebody else looks at it."""
    rows = StorageRoot.objects.filter(
        pk=root_id, enabled=True, next_at_ns__lte=now_ns, claimed_until_ns__lt=now_ns
    )
    return rows.update(claimed_until_ns=until_ns) == 1


def finish(root_id: int, look: Look, next_at_ns: int) -> None:
    """Keeps what a look found and gives the root free."""
    row = StorageRoot.objects.filter(pk=root_id).first()
    if row is None:
        return
    rooms = row.rooms
    if look.free_bytes is not None:
        rooms = [*rooms, [look.at_ns, look.free_bytes, look.total_bytes]][-MAX_ROOMS:]
    StorageRoot.objects.filter(pk=root_id).update(
        last=packed(look), rooms=rooms, next_at_ns=next_at_ns, claimed_until_ns=0
    )


def seen(root_id: int) -> dict[str, Seen]:
    """path below the root -> how it looked, of at most MAX_KNOWN. -- uses ix_scanned_step_root"""
    rows = ScannedStep.objects.filter(root_id=root_id)
    fields = ("path", "run_id", "place_key", "fingerprint", "broken", "numbered")
    return {path: Seen(*rest) for path, *rest in rows.values_list(*fields)[:MAX_KNOWN]}


def fingerprints(root_id: int) -> dict[str, str]:
    """path below the root -> how it looked, as a child wants it."""
    return {path: one.fingerprint for path, one in seen(root_id).items()}


def keep(root_id: int, path: str, found: Seen) -> None:
    """Remembers how a step looked."""
    ScannedStep.objects.bulk_create(
        [
            ScannedStep(
                run_id=found.run_id,
                root_id=root_id,
                place_key=found.place_key,
                path=path,
                fingerprint=found.fingerprint,
                broken=found.broken,
                numbered=found.numbered,
            )
        ],
        update_conflicts=True,
        unique_fields=["run_id", "root_id", "place_key"],
        update_fields=["path", "fingerprint", "broken", "numbered"],
    )


def forget(root_id: int, gone: Collection[Seen]) -> None:
    """They are not there any more: should they come back, they are read again."""
    for one in gone:
        rows = ScannedStep.objects.filter(run_id=one.run_id, root_id=root_id)
        rows.filter(place_key=one.place_key).delete()


def _said(rule: RootRule) -> Mapping[str, Any]:
    return {
        "uri": rule.uri,
        "run_id": rule.run_id,
        "project": rule.project,
        "pattern": rule.pattern,
        "every_s": rule.every_s,
        "enabled": rule.enabled,
    }


def _info(row: StorageRoot) -> RootInfo:
    rule = RootRule(row.uri, row.run_id, row.project, row.pattern, row.every_s, row.enabled)
    return RootInfo(
        id=row.pk,
        rule=rule,
        version=row.version,
        changed_by=row.changed_by,
        changed_at_ns=row.changed_at_ns,
        next_at_ns=row.next_at_ns,
        claimed_until_ns=row.claimed_until_ns,
        last=None if row.last is None else msgspec.convert(row.last, Look),
        rooms=tuple(Room(*one) for one in row.rooms),
    )
