"""Where the processes of a W&B run run, into the tables."""

from __future__ import annotations

from django.utils import timezone

from apps.ingest.wandb.facts import Facts
from apps.nodes import store as nodes
from apps.runs import store as runs
from apps.runs.records import PlacementInfo, Progress


def note_place(run_id: int, attempt: int, facts: Facts) -> None:
    """Makes the node known, and which rank it runs if that is sure. The caller holds the run."""
    if facts.node is None:
        return
    nodes.ensure([facts.node])
    if facts.rank is None:
        return
    place = PlacementInfo(facts.rank, facts.node, facts.local_rank, facts.device)
    runs.record_placements(run_id, attempt, [place])
    said = Progress(world_size=facts.world_size)
    runs.note_progress(run_id, attempt, said, timezone.now())
