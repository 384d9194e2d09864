"""torchtitan: the highest complete `step-N` of the folder wins."""

from __future__ import annotations

from apps.rollbacks.domain.branching.shapes import BranchPlan, Chosen, linked, place

TITLE = "torchtitan"


def plan(chosen: Chosen) -> BranchPlan:
    """A link; in an object store an initial load path, which is ignored once the folder has a step.

    The folder may be absolute: it is joined to the dump folder. Source:
    torchtitan/components/checkpoint.py; purging ignores what rmtree refuses, such as a link.
    """
    folder = ("--checkpoint.folder", chosen.branch)
    load = ("--checkpoint.initial_load_path", chosen.uri, "--checkpoint.no_initial_load_model_only")
    arguments = folder if chosen.on_disk or chosen.inside else (*folder, *load)
    return BranchPlan(
        framework="torchtitan",
        directory=chosen.branch,
        load=place(chosen),
        links=linked(chosen),
        arguments=arguments,
        later=arguments,
        avoid=("--checkpoint.load_step", "--checkpoint.initial_load_in_hf"),
        note="torchtitan does not save the state of the random generators.",
    )
