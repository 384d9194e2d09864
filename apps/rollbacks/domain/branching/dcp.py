"""PyTorch distributed checkpoints in a loop of one's own."""

from __future__ import annotations

from apps.rollbacks.domain.branching.shapes import BranchPlan, Chosen, linked, place

TITLE = "PyTorch distributed checkpoint"


def plan(chosen: Chosen) -> BranchPlan:
    """A link: dcp.load reads through it. Seen with torch 2.13.0."""
    return BranchPlan(
        framework="dcp",
        directory=chosen.branch,
        load=place(chosen),
        links=linked(chosen),
        code='dcp.load(state, checkpoint_id=os.environ["CKPT_RESUME_PATH"]); '
        "dcp.save(state, checkpoint_id=f\"{os.environ['CKPT_BRANCH_DIR']}/step-{step}\")",
        avoid=("a fixed step or path in the arguments of the job",),
        note="Ask for the resume point at every start: it names the newest complete step of the "
        "branch.",
    )
