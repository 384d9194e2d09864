"""Hugging Face Trainer: the highest `checkpoint-N` of output_dir wins, whatever is inside."""

from __future__ import annotations

from apps.rollbacks.domain.branching.shapes import BranchPlan, Chosen, linked, place

TITLE = "Hugging Face Trainer"


def plan(chosen: Chosen) -> BranchPlan:
    """A link is enough: get_last_checkpoint follows it, rotation never removes what it points to.

    Seen with transformers 5.24.0: shutil.rmtree refuses a symlink, so the original stays.
    """
    save = ("--output_dir", chosen.branch)
    first = save if chosen.on_disk else (*save, "--resume_from_checkpoint", chosen.uri)
    newest = "trainer.train(resume_from_checkpoint=True)"
    return BranchPlan(
        framework="hf_trainer",
        directory=chosen.branch,
        load=place(chosen),
        links=linked(chosen),
        arguments=first,
        later=save,
        code=newest,
        avoid=("--overwrite_output_dir", "--resume_from_checkpoint with a fixed step"),
        note=""
        if chosen.on_disk
        else "The Trainer reads local paths: copy the step to the node first.",
    )
