"""DeepSpeed: the file `latest` names the tag; without it training starts afresh with a warning."""

from __future__ import annotations

from apps.rollbacks.domain.branching.shapes import BranchPlan, Chosen, linked, place, pointer, root

TITLE = "DeepSpeed"


def plan(chosen: Chosen) -> BranchPlan:
    """A link and `latest`. Source: deepspeed/runtime/engine.py."""
    in_store = not chosen.on_disk and not chosen.inside
    tag = f', tag="{chosen.name}"' if in_store else ""
    return BranchPlan(
        framework="deepspeed",
        directory=chosen.branch,
        load=place(chosen),
        links=linked(chosen),
        files=pointer(chosen, "latest", chosen.name),
        code=f'engine.load_checkpoint("{root(chosen)}"{tag}); '
        f'engine.save_checkpoint("{chosen.branch}")',
        avoid=() if in_store else ("tag= with a fixed step", "latest_universal"),
        note="load_checkpoint returns (None, None) where it finds nothing: stop then, "
        "instead of starting from scratch."
        + (" Drop the tag after the first save." if in_store else ""),
    )
