"""Orbax and MaxText: a new run name, and the full state of the old step to begin with."""

from __future__ import annotations

from apps.rollbacks.domain.branching.shapes import BranchPlan, Chosen

TITLE = "Orbax"
MAXTEXT_TITLE = "MaxText"


def plan(chosen: Chosen) -> BranchPlan:
    """CheckpointManager on the new directory; no link: its rotation would meet one.

    all_steps() of an empty directory is empty, so the first start restores from the old step.
    """
    manager = f'CheckpointManager("{chosen.branch}")'
    return BranchPlan(
        framework="orbax",
        directory=chosen.branch,
        load=chosen.uri,
        code=f"{manager}; where latest_step() is None, restore from "
        f'"{chosen.uri}" with StandardCheckpointer',
        avoid=("restore(step) with a fixed step",),
    )


def maxtext(chosen: Chosen) -> BranchPlan:
    """The branch is <base>/<new run name>/checkpoints: what MaxText makes of the run name.

    Source: MaxText/configs/base.yml, checkpointing.py; not run.
    """
    base, _, run_name = chosen.branch.rstrip("/").rpartition("/")[0].rpartition("/")
    place = (f"base_output_directory={base}", f"run_name={run_name}")
    load = (f"load_full_state_path={chosen.uri.rstrip('/')}/items",)
    arguments = place if chosen.inside else (*place, *load)
    return BranchPlan(
        framework="maxtext",
        directory=chosen.branch,
        load=chosen.uri,
        arguments=arguments,
        later=arguments,
        avoid=("load_parameters_path",),
        note="The full-state path counts only while the new run has no checkpoint of its own.",
    )
