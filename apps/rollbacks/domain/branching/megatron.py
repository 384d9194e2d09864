"""Megatron-LM: the tracker file names the iteration; `--ckpt-step` would override it for ever."""

from __future__ import annotations

import re

from apps.rollbacks.domain.branching.shapes import (
    BranchPlan,
    Chosen,
    flags,
    linked,
    place,
    pointer,
    root,
)

TITLE = "Megatron-LM"
TRACKER = "latest_checkpointed_iteration.txt"


def plan(chosen: Chosen) -> BranchPlan:
    """A link and a tracker; `--exit-on-missing-checkpoint`, else a lost tracker means from scratch.

    `--iterations-to-skip` counts from 1, as the logged iterations do. Source: megatron/training.
    """
    found = re.search(r"\d+$", chosen.name)
    iteration = str(int(found[0]) if found else chosen.step)
    always = ("--exit-on-missing-checkpoint", *flags("--iterations-to-skip", chosen.skipped))
    in_store = not chosen.on_disk and not chosen.inside
    step = ("--ckpt-step", iteration) if in_store else ()
    return BranchPlan(
        framework="megatron",
        directory=chosen.branch,
        load=place(chosen),
        links=linked(chosen),
        files=pointer(chosen, TRACKER, iteration),
        arguments=("--load", root(chosen), "--save", chosen.branch, *step, *always),
        later=("--load", chosen.branch, "--save", chosen.branch, *always),
        avoid=("--finetune", "--no-load-optim", "--no-load-rng")
        if in_store
        else ("--ckpt-step", "--finetune", "--no-load-optim", "--no-load-rng"),
        note="--ckpt-step belongs to the first start only: left in place it throws away the "
        "progress of every later one."
        if in_store
        else "",
    )
