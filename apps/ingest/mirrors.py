"""How far runs are mirrored from other servers, as their pullers say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from apps.core.times import ns_of
from apps.ingest.models import Mirror
from apps.ingest.store import clean


@dataclass(frozen=True, slots=True)
class MirrorState:
    """How far a run is mirrored; see models.Mirror."""

    source: str
    state: str
    step: int
    behind: int | None
    error: str
    run_id: int = 0
    seen_at: datetime | None = None
    whole_at: datetime | None = None


def note_mirror(run_id: int, said: MirrorState, now: datetime) -> None:
    """What a puller says of a run it mirrors."""
    told = {"source": clean(said.source), "state": clean(said.state), "step": said.step}
    told |= {"behind": said.behind, "error": clean(said.error), "seen_at": now}
    whole = {"whole_at": now} if said.behind == 0 else {}
    Mirror.objects.update_or_create(run_id=run_id, defaults=told | whole)


def mirrors(limit: int = 200) -> list[MirrorState]:
    """Mirrored runs, those in trouble first, then those heard of last."""
    rows = sorted(Mirror.objects.order_by("-seen_at")[:limit], key=lambda row: row.error == "")
    return [
        MirrorState(
            source=row.source,
            state=row.state,
            step=row.step,
            behind=row.behind,
            error=row.error,
            run_id=row.run_id,
            seen_at=row.seen_at,
            whole_at=row.whole_at,
        )
        for row in rows
    ]


def seen_ns(run_ids: Sequence[int]) -> dict[int, int]:
    """run id -> when its puller last said how far it is, of mirrored runs. -- the primary key"""
    rows = Mirror.objects.filter(run_id__in=run_ids).values_list("run_id", "seen_at")
    return {run_id: ns_of(seen_at) for run_id, seen_at in rows}
