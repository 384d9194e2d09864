"""LitGPT: `--resume auto` takes the highest step of the output directory, without a look at it."""

from __future__ import annotations

from apps.rollbacks.domain.branching.shapes import BranchPlan, Chosen, linked, place

TITLE = "LitGPT"


def plan(chosen: Chosen) -> BranchPlan:
    """A link. Source: litgpt/pretrain.py; not run."""
    save = ("--out_dir", chosen.branch)
    in_store = not chosen.on_disk and not chosen.inside
    resume = chosen.uri if in_store else "auto"
    return BranchPlan(
        framework="litgpt",
        directory=chosen.branch,
        load=place(chosen),
        links=linked(chosen),
        arguments=(*save, "--resume", resume),
        later=(*save, "--resume", "auto"),
        avoid=() if in_store else ("--resume with a fixed path",),
    )
