"""Anything else: load what CKPT_RESUME_PATH names, save below CKPT_BRANCH_DIR."""

from __future__ import annotations

from apps.rollbacks.domain.branching.shapes import BranchPlan, Chosen, linked, place

TITLE = "another program"


def plan(chosen: Chosen) -> BranchPlan:
    """A link under the same name, for programs that look for the newest step themselves."""
    return BranchPlan(
        framework="plain",
        directory=chosen.branch,
        load=place(chosen),
        links=linked(chosen),
        code='load(os.environ["CKPT_RESUME_PATH"]); save below os.environ["CKPT_BRANCH_DIR"]',
        avoid=("a fixed step or path in the arguments of the job",),
        note="Ask for the resume point at every start: it names the newest complete step of the "
        "branch.",
    )
