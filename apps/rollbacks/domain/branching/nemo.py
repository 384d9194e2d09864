"""NeMo 2: AutoResume takes the newest directory of its checkpoints whose name ends with `last`."""

from __future__ import annotations

from apps.rollbacks.domain.branching.shapes import BranchPlan, Chosen, linked, place

TITLE = "NeMo"


def plan(chosen: Chosen) -> BranchPlan:
    """A link that ends with -last. Source: nemo/lightning/resume.py; not run."""
    name = chosen.name if chosen.name.endswith("-last") else f"{chosen.name}-last"
    where = f'resume_from_directory="{chosen.branch}"'
    if not linked(chosen) and not chosen.inside:
        where = f'resume_from_path="{chosen.uri}"'
    return BranchPlan(
        framework="nemo",
        directory=chosen.branch,
        load=place(chosen, name),
        links=linked(chosen, name),
        code=f"AutoResume(resume_if_exists=True, {where}) with "
        f'ModelCheckpoint(dirpath="{chosen.branch}", save_last=True)',
        avoid=("resume_ignore_no_checkpoint=True", "restore_config with a fixed path"),
        note="A <name>-unfinished file beside a checkpoint hides it: there must be none here.",
    )
