"""Slurm by its own commands: requeue the job, or submit its script anew.

Requeue keeps the job, its number and its place: it is held, told which nodes not to use, and
released. Its script has to ask for the resume point at every start, because the environment of a
job cannot be changed. Submit ends the old job and starts a new one that gets the resume point in
its environment. Tried on Slurm 22.05.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from apps.core.errors import AppError
from apps.rollbacks.domain import slurm
from apps.rollbacks.domain.handover import Effect, Errand, Facts, Look, Outcome, Seen, Word, unseen
from apps.rollbacks.domain.slurm import Job, SlurmConfig
from apps.rollbacks.launchers import commands
from apps.rollbacks.launchers.commands import Ran
from apps.rollbacks.launchers.protocol import Note

SETTLE_S: Final = 30.0
"""How long after a lost answer the controller may still be working on the request."""
REST_S: Final = 3
"""Slurm lets a requeued job wait for two minutes. Released within the second in which it was ended
it would die: "Killing non-startable batch job: Job credential revoked" (seen on 22.05)."""
_DONE: Final = Outcome(Word.DONE)
_AGAIN: Final = Look(Seen.NO)
"""For steps that may be repeated."""


class Slurm:
    """One run's job. note: keeps each command and its answer."""

    def __init__(self, config: SlurmConfig, note: Note, clock: Callable[[], float] = time.time):
        self._config, self._note, self._clock = config, note, clock
        submit = {"ended": self._ended, "submit": self._submit, "try": self._try}
        requeue = {"hold": self._hold, "amend": self._amend, "release": self._release}
        common = {"find": self._find, "drain": self._drain, "stop": self._stop}
        self._steps: Mapping[str, Callable[[Errand], Outcome]] = {**common, **submit, **requeue}

    def plan(self, errand: Errand) -> tuple[Effect, ...]:
        """Find, drain; then hold, amend and release, or try, stop, wait and submit."""
        job, script = self._config.job, self._config.script
        nodes = ", ".join(errand.exclude_nodes)
        effects = [Effect("find", f"look for the Slurm job called {job}")]
        if script:
            without = f" without {nodes}" if nodes else ""
            effects.append(Effect("try", f"ask Slurm whether it would take {script}{without}"))
        if self._config.drain and nodes:
            effects.append(Effect("drain", f"drain {nodes}: no job gets these nodes any more"))
        return (*effects, *(self._submitting(script, nodes) if script else self._requeueing(nodes)))

    def _submitting(self, script: str, nodes: str) -> tuple[Effect, ...]:
        job, without = self._config.job, f", never on {nodes}" if nodes else ""
        return (
            Effect("stop", f"cancel the running {job}"),
            Effect("ended", "wait until it has given its nodes back"),
            Effect("submit", f"submit {script} with the resume point in its environment{without}"),
        )

    def _requeueing(self, nodes: str) -> tuple[Effect, ...]:
        without = f", and bar it from {nodes}" if nodes else ""
        return (
            Effect("hold", f"stop {self._config.job} and hold it in the queue"),
            Effect("amend", f"mark it as following the order{without}"),
            Effect("release", "release it, to start at once; its script asks for the resume point"),
        )

    def before(self, key: str, errand: Errand) -> Facts:
        """The number of restarts so far; the time of a submission, and how long Slurm remembers."""
        if key == "hold":
            job = self._by_number(errand)
            return {"restarts": str(job.restarts) if job else "0"}
        if key != "submit":
            return {}
        memory_s = slurm.memory_s(self._run("scontrol", "show", "config").out)
        return {"at_s": str(int(self._clock())), "memory_s": str(memory_s)}

    def start(self, key: str, errand: Errand) -> Outcome:
        """See `Launcher.start`."""
        try:
            return self._steps[key](errand)
        except _Answer as error:
            return error.outcome
        except AppError as error:
            return Outcome(Word.FAILED, text=str(error))

    def look(self, key: str, errand: Errand, before: Facts) -> Look:
        """Only holding and submitting are dangerous to repeat: the first would end the new start,
        the second would start another one beside it."""
        try:
            if key == "hold":
                return self._look_hold(errand, before)
            return self._look_submit(errand, before) if key == "submit" else _AGAIN
        except _Answer as error:
            return unseen(error.outcome)

    def launch(self, errand: Errand) -> str:
        """slurm-JOB: the same name under which the script of the job takes the order on."""
        return f"slurm-{errand.facts.get('new_job') or errand.facts['job']}"

    # -- steps

    def _find(self, errand: Errand) -> Outcome:
        job = slurm.the_one(self._squeue(f"--name={self._config.job}"), self._config.job)
        if job is None and not self._config.script:
            raise AppError(
                f"Slurm knows no job called {self._config.job}",
                hint="it forgets a job 5 minutes after its end; submit it, or name its script here",
            )
        facts = {"job": job.id if job else ""}
        if errand.exclude_nodes:
            listed = self._must("sinfo", "--noheader", "--Node", "--format=%N").out.split()
            facts["exclude"] = ",".join(slurm.nodes(errand.exclude_nodes, frozenset(listed)))
        return Outcome(Word.DONE, facts)

    def _try(self, errand: Errand) -> Outcome:
        self._must(*self._sbatch(errand, "--test-only"), env=errand.env)
        return _DONE

    def _drain(self, errand: Errand) -> Outcome:
        why = f"lastgood {errand.label}: {' '.join(errand.reason.split())[:100]}"
        node = f"NodeName={errand.facts['exclude']}"
        self._must("scontrol", "update", node, "State=DRAIN", f"Reason={why}")
        return _DONE

    def _stop(self, errand: Errand) -> Outcome:
        job = self._by_number(errand)
        if job is not None and not job.ended:
            self._must("scancel", job.id)
        return _DONE

    def _ended(self, errand: Errand) -> Outcome:
        job = self._by_number(errand)
        if job is None or job.ended:
            return _DONE
        return Outcome(Word.LATER, text=f"job {job.id} is {job.state.lower()}", wait_s=1.0)

    def _submit(self, errand: Errand) -> Outcome:
        ran = self._run(*self._sbatch(errand, "--parsable"), env=errand.env)
        if ran.code == 0:
            return Outcome(Word.DONE, {"new_job": ran.out.strip().partition(";")[0]})
        wait_s = SETTLE_S if slurm.maybe_taken(ran.text) else 2.0
        word = Word.LATER if slurm.passing(ran.text) or ran.code == 137 else Word.FAILED
        return Outcome(word, text=ran.text, wait_s=wait_s)

    def _hold(self, errand: Errand) -> Outcome:
        job = self._by_number(errand)
        if job is None:
            raise AppError(f"Slurm has forgotten job {errand.facts['job']}", hint="submit it")
        if job.state != "PENDING":
            self._must("scontrol", "requeuehold", job.id)
            return _DONE
        self._must("scontrol", "hold", job.id)
        still = self._by_number(errand)
        if still is None or still.state != "PENDING":
            return Outcome(Word.LATER, text=f"job {job.id} has just started", wait_s=1.0)
        return _DONE

    def _amend(self, errand: Errand) -> Outcome:
        job = self._stopped(errand)
        if job is None:
            return _DONE
        exclude = f"ExcNodeList={errand.facts.get('exclude', '')}"
        # A list of nodes that the job asked for may not hold one that it must not use.
        node_lists = ["ReqNodeList=", exclude] if errand.exclude_nodes else []
        self._must(
            "scontrol", "update", f"JobId={job.id}", *node_lists, f"Comment={errand.mark}",
            f"StartTime=now+{REST_S}seconds",
        )  # fmt: skip
        return _DONE

    def _release(self, errand: Errand) -> Outcome:
        job = self._stopped(errand)
        if job is None:
            return _DONE
        self._must("scontrol", "release", job.id)
        return _DONE

    def _stopped(self, errand: Errand) -> Job | None:
        """The job in the queue; None if it runs, so that it was released already. Raises _Answer
        with "later" while it gives its nodes back: what it is told then may be lost."""
        job = self._by_number(errand)
        if job is not None and job.state == "PENDING":
            return job
        if job is not None and job.state in ("RUNNING", "CONFIGURING"):
            return None
        text = f"job {job.id} is {job.state.lower()}" if job else "the job is gone"
        raise _Answer(Outcome(Word.LATER if job else Word.FAILED, text=text, wait_s=0.5))

    # -- look-ups

    def _look_hold(self, errand: Errand, before: Facts) -> Look:
        job = self._by_number(errand)
        if job is None:
            return Look(Seen.UNSURE, text=f"Slurm has forgotten job {errand.facts['job']}")
        if job.restarts > int(before["restarts"]):
            return Look(Seen.YES)
        return _AGAIN

    def _look_submit(self, errand: Errand, before: Facts) -> Look:
        found = [job for job in self._squeue() if job.comment == errand.mark]
        if found:
            return Look(Seen.YES, {"new_job": found[0].id})
        # An ended job that was submitted longer ago may be gone without a trace.
        if self._clock() - int(before["at_s"]) < int(before["memory_s"]):
            return _AGAIN
        text = f"a job with the comment {errand.mark} may have been submitted and have ended"
        return Look(Seen.UNSURE, text=text)

    # -- commands

    def _sbatch(self, errand: Errand, how: str) -> tuple[str, ...]:
        script, exclude = self._config.script, errand.facts.get("exclude")
        return (
            "sbatch", how, "--export=ALL", f"--job-name={self._config.job}",
            f"--comment={errand.mark}", *([f"--exclude={exclude}"] if exclude else []),
            f"--chdir={self._config.workdir or Path(script).parent}", script,
        )  # fmt: skip

    def _by_number(self, errand: Errand) -> Job | None:
        number = errand.facts.get("job")
        if not number:
            return None
        return next((job for job in self._squeue() if job.id == number), None)

    def _squeue(self, *more: str) -> tuple[Job, ...]:
        """Jobs of the name that Slurm still knows, ended ones too.

        By name, not by number: squeue fails for a number that it has forgotten.
        """
        user = f"--user={self._config.user}" if self._config.user else "--me"
        name = f"--name={self._config.job}"
        form = f"--Format={slurm.COLUMNS}"
        return slurm.jobs(
            self._must("squeue", "--noheader", "--states=all", user, name, form, *more).out
        )

    def _must(self, *argv: str, env: Mapping[str, str] | None = None) -> Ran:
        """Raises _Answer with the outcome of the step if a command fails."""
        ran = self._run(*argv, env=env)
        if ran.code == 0:
            return ran
        later = ran.code == 137 or slurm.passing(ran.text)
        raise _Answer(Outcome(Word.LATER if later else Word.FAILED, text=ran.text, wait_s=1.0))

    def _run(self, *argv: str, env: Mapping[str, str] | None = None) -> Ran:
        return commands.run(argv, self._note, env)


class _Answer(Exception):
    """A command failed: so ends the step."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.text)
        self.outcome = outcome
