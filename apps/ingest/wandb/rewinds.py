"""`wandb.init(resume_from="RUN?_step=N")`: where a run goes on that is set back to a step.

Nothing is dropped: the process that rewinds has an attempt of its own, which branches off from the
one that holds the step. What that one logged beyond it stays there and is given up.
"""

from __future__ import annotations

from collections.abc import Sequence

from apps.accounts.records import Actor
from apps.accounts.services import audit
from apps.core.errors import AppError
from apps.ingest.store import count
from apps.ingest.wandb import readback
from apps.ingest.wandb.graphql import Rewind, Rewound
from apps.ingest.wandb.lineage import holder
from apps.ingest.wandb.lines import HISTORY
from apps.ingest.wandb.sessions import Told
from apps.runs import store as runs
from apps.runs.records import AttemptInfo


def find(asked: Rewind) -> Rewound:
    """What the process that asks must know. Changes nothing.

    AppError if there is no such run in the project, or no attempt of it holds the step.
    """
    run = runs.get_run(asked.key)
    if run is None or run.project not in ("", asked.project):
        raise AppError(
            f'there is no run "{asked.key[:140]}" in the project "{asked.project}"',
            where="resume_from",
            hint="resume_from takes the id of a run, not its name",
        )
    attempts = runs.attempts(run.id)
    found = holder(attempts, asked.step)
    if found is None:
        raise AppError(
            f"no attempt holds step {asked.step}: {_extent(attempts)}",
            where="resume_from",
            hint="name a logged step, or begin another attempt: wandb.init(id=...) alone",
        )
    lines = sum(span.rows() for span in readback.spans(run.id, None, asked.step, found))
    told = Told(found, lines, 0, 0, asked.step)
    return Rewound(run.project or asked.project, asked.key, run.config, told)


def _extent(attempts: Sequence[AttemptInfo]) -> str:
    logged = [a for a in attempts if a.first_step is not None and a.last_step is not None]
    if not logged:
        return "none has logged a step"
    first = min(a.first_step for a in logged if a.first_step is not None)
    last = max(a.last_step for a in logged if a.last_step is not None)
    return f"they logged steps {first} to {last}"


def last_lines(step: int) -> dict[str, str]:
    """file -> line before the first one of a process that goes on after the step."""
    return {HISTORY: f'{{"_step":{step}}}'}


def give_up(run_id: int, attempt: int, told: Told, actor: Actor) -> None:
    """What was logged beyond the step that the process of `attempt` set the run back to.

    Once, however often the process says it; counted and audited. Runs in the caller's transaction.
    """
    if told.step is None:
        return
    if runs.branch_off(run_id, attempt, told.attempt, told.step + 1):
        count(run_id, {"rewinds": 1})
        after = {"parent": told.attempt, "fork_step": told.step + 1}
        audit(actor, "attempt.rewind", f"attempt {attempt}", run_id=run_id, after=after)
