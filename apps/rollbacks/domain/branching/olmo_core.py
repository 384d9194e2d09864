"""OLMo-core: a checkpoint in the save folder wins over the load path."""

from __future__ import annotations

from apps.rollbacks.domain.branching.shapes import BranchPlan, Chosen

TITLE = "OLMo-core"


def plan(chosen: Chosen) -> BranchPlan:
    """A load path, the same at every start: ignored once the save folder has a checkpoint.

    Source: olmo_core/train/trainer.py.
    """
    save = ("--trainer.save_folder", chosen.branch)
    load = ("--trainer.load_path", chosen.uri, "--trainer.load_strategy", "always")
    arguments = save if chosen.inside else (*save, *load)
    return BranchPlan(
        framework="olmo_core",
        directory=chosen.branch,
        load=chosen.uri,
        arguments=arguments,
        later=arguments,
        avoid=("--trainer.load_strategy never", "--trainer.save_overwrite"),
        note="Names of a configuration of Trainer; your script may have them elsewhere.",
    )
