"""The runs that a run is compared with, and what was read of them."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from apps.metrics.models import Siblings


class Reference(msgspec.Struct, frozen=True):
    """A run to compare with. attempt: only up to this one; None: all that counts of it now.
    compute: of its whole training, in the unit of the others; None: not said."""

    run_id: int
    attempt: int | None = None
    compute: float | None = None


@dataclass(frozen=True, slots=True)
class SiblingSet:
    """What somebody chose for a run. total_steps, compute: of the run itself. curves: packed."""

    references: tuple[Reference, ...]
    total_steps: int
    compute: float | None = None
    curves: bytes = b""
    version: int = 0
    changed_at_ns: int = 0
    changed_by: str = ""


def siblings_of(run_id: int, *, lock: bool = False) -> SiblingSet | None:
    """What was chosen, None if nothing was; lock: until the transaction ends. -- primary key"""
    rows = Siblings.objects.filter(run_id=run_id)
    row = (rows.select_for_update() if lock else rows).first()
    if row is None:
        return None
    return SiblingSet(
        references=tuple(msgspec.convert(row.chosen, list[Reference])),
        total_steps=row.total_steps,
        compute=row.compute,
        curves=bytes(row.curves),
        version=row.version,
        changed_at_ns=row.changed_at_ns,
        changed_by=row.changed_by,
    )


def save_siblings(run_id: int, chosen: SiblingSet) -> None:
    """Stores a set over what was there. Hold the run's row."""
    values = {
        "chosen": msgspec.to_builtins(list(chosen.references)),
        "total_steps": chosen.total_steps,
        "compute": chosen.compute,
        "curves": chosen.curves,
        "version": chosen.version,
        "changed_at_ns": chosen.changed_at_ns,
        "changed_by": chosen.changed_by[:200],
    }
    Siblings.objects.update_or_create(run_id=run_id, defaults=values)


def save_curves(run_id: int, version: int, curves: bytes) -> None:
    """Stores what was read of the references, unless others have been chosen meanwhile."""
    Siblings.objects.filter(run_id=run_id, version=version).update(curves=curves)
