"""Is the asked checkpoint one to go back to? Looked at again whenever somebody asks."""

from __future__ import annotations

from dataclasses import dataclass

from apps.checkpoints import looking
from apps.checkpoints import services as checkpoint_services
from apps.checkpoints import store as checkpoints
from apps.checkpoints.looking import Seen, Sight
from apps.checkpoints.records import CheckpointInfo
from apps.core.clock import now_ns
from apps.core.errors import Conflict, NotFound, Refused
from apps.core.records import Candidate
from apps.incidents import store as incidents
from apps.incidents.domain.incident import IncidentInfo
from apps.rollbacks import gather, store
from apps.rollbacks.domain.ranking import Ranking
from apps.rollbacks.domain.scene import FAILURE, Fault
from apps.rollbacks.records import OrderInfo, RollbackRequest
from apps.runs import store as runs
from apps.runs.records import AttemptInfo, RunInfo


@dataclass(frozen=True, slots=True)
class Choice:
    """The chosen checkpoint and what speaks for it. candidate: None if it is not even listed."""

    checkpoint: CheckpointInfo
    incident: IncidentInfo | None
    fault: Fault
    ranking: Ranking
    candidate: Candidate | None
    newest: AttemptInfo

    @property
    def eligible(self) -> bool:
        """Whether it passed every hard filter."""
        return self.candidate is not None and self.candidate.eligible

    @property
    def against(self) -> list[str]:
        """Why it is no eligible candidate, in words."""
        found = [] if self.candidate is None else self.candidate.reasons
        place = (self.checkpoint.attempt, self.checkpoint.step)
        excluded = (e for e in self.ranking.excluded if (e.attempt, e.step) == place)
        return [e.text for e in found if e.weight < 0] + [e.reason for e in excluded]


def ranking(run_id: int, incident: IncidentInfo | None) -> Ranking:
    """The checkpoints ranked for an incident, or for the end of the newest attempt without one."""
    attempts = runs.attempts(run_id)
    if incident is None and not attempts:
        return Ranking((), ())
    return gather.ranking(run_id, fault_for(incident, attempts))


def fault_for(incident: IncidentInfo | None, attempts: list[AttemptInfo]) -> Fault:
    """What a rollback is for. Without an incident: the end of the newest attempt, of which there
    must be one."""
    if incident is not None:
        return gather.fault_of(incident, attempts)
    newest = attempts[-1]
    ended_ns = newest.last_ns or newest.started_ns or now_ns()
    return Fault(FAILURE, newest.number, newest.last_step, ended_ns)


def verify(run_id: int, step: int) -> None:
    """Checks the checkpoints of the step whose check has not come yet. Before the transaction of
    the order: it may take seconds, and the run's row holds up every writer of the run."""
    for known in checkpoints.at_step(run_id, step):
        if known.checked_at_ns is None:
            checkpoint_services.verify(run_id, known.attempt, known.step)


def choose(run: RunInfo, asked: RollbackRequest) -> Choice:
    """The checkpoint that is asked for, as it is now. Raises NotFound if there is none."""
    attempts = runs.attempts(run.id)
    if not attempts:
        raise NotFound("this run has no attempts yet", where="run")
    incident = incident_for(run.id, asked.incident_id)
    fault = fault_for(incident, attempts)
    ranked = gather.ranking(run.id, fault)
    at_step = [c for c in ranked.candidates if c.step == asked.step]
    known = {c.attempt: c for c in checkpoints.at_step(run.id, asked.step)}
    preferred = asked.attempt if asked.attempt is not None else _attempt(at_step, known)
    checkpoint = known.get(preferred) if preferred is not None else None
    if checkpoint is None:
        raise NotFound(
            f"no checkpoint of step {asked.step} is known", where="step",
            hint="GET /api/v1/runs/{key}/checkpoints lists them",
        )  # fmt: skip
    chosen = next((c for c in at_step if c.attempt == preferred), None)
    return Choice(checkpoint, incident, fault, ranked, chosen, attempts[-1])


def check(choice: Choice, *, force: bool) -> None:
    """Raises Refused for an incomplete checkpoint, or one that is not eligible unless forced."""
    checkpoint = choice.checkpoint
    if not checkpoint.complete:
        found = "; ".join(f.message for f in checkpoint.fatal) or "no commit marker was seen"
        raise Refused(
            f"the checkpoint of step {checkpoint.step} is not complete: {found}", where="step",
            hint="choose another one; an incomplete checkpoint cannot be forced",
        )  # fmt: skip
    if force or choice.eligible:
        return
    why = "; ".join(choice.against) or "not ranked"
    raise Refused(
        f"step {checkpoint.step} is no eligible candidate: {why}", where="step",
        hint="choose an eligible one, or force it and say why in the reason",
    )  # fmt: skip


def look(run_id: int, choice: Choice) -> Seen:
    """Has the storage looked at, now, and waits a few seconds for it. Outside of a transaction."""
    return looking.look_now(run_id, choice.checkpoint)


def check_seen(choice: Choice, seen: Seen, *, force: bool) -> None:
    """Raises Refused for a checkpoint that is not there, unless forced: the storage worker may lack
    the mount. One that nobody could look at is let through."""
    if seen.sight is Sight.MISSING and not force:
        raise Refused(
            f"the checkpoint of step {choice.checkpoint.step} was looked at just now: {seen.words}",
            where="step", hint="see that its storage is mounted, choose another one, or force it",
        )  # fmt: skip


def check_free(run_id: int, *, supersede: bool) -> OrderInfo | None:
    """The active order that has to make way; Conflict unless it may be superseded."""
    active = store.active(run_id)
    if active is not None and not supersede:
        raise Conflict(
            f"{active.label} to step {active.step} by {active.actor} is {active.state.value}",
            where="order", hint="cancel it, wait for its verdict, or ask to supersede it",
        )  # fmt: skip
    return active


def _attempt(at_step: list[Candidate], known: dict[int, CheckpointInfo]) -> int | None:
    return at_step[0].attempt if at_step else max(known, default=None)


def incident_for(run_id: int, incident_id: int | None) -> IncidentInfo | None:
    """The named incident, else the newest open page of the run. NotFound for another run's."""
    if incident_id is not None:
        found = incidents.get_many(run_id, [incident_id])
        if not found:
            raise NotFound("no such incident in this run", where="incident_id")
        return found[0]
    pages = [i for i in incidents.waiting([run_id]) if i.page]
    return pages[0] if pages else None
