"""Lightning: one file a step; `ckpt_path="last"` takes the last*.ckpt that was changed last."""

from __future__ import annotations

from apps.rollbacks.domain.branching.shapes import BranchPlan, Chosen, linked, place

TITLE = "Lightning"
LAST = "last.ckpt"


def plan(chosen: Chosen) -> BranchPlan:
    """The file under its own name and as last.ckpt, so that first and later starts are the same.

    Later saves get another name (last-v1.ckpt), so that none is written through the link. Seen with
    Lightning 2.6.6, save_last True and "link".
    """
    links = linked(chosen)
    last = () if not links or chosen.name == LAST else ((LAST, chosen.uri),)
    in_store = not links and not chosen.inside
    path = chosen.uri if in_store else "last"
    save = f'ModelCheckpoint(dirpath="{chosen.branch}", save_last=True)'
    return BranchPlan(
        framework="lightning",
        directory=chosen.branch,
        load=place(chosen),
        links=(*links, *last),
        code=f'trainer.fit(model, ckpt_path="{path}") with {save}',
        avoid=('ckpt_path="best"',) if in_store else ("ckpt_path with a fixed file",),
        note='After the first save use ckpt_path="last".' if in_store else "",
    )
