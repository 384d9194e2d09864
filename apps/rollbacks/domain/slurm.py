"""What Slurm's commands say and what a job may be called. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Final

from apps.core.errors import AppError

_COLUMNS: Final = (("JobID", 24), ("State", 24), ("RestartCnt", 12), ("Comment", 120))
COLUMNS: Final = ",".join(f"{name}:{width}" for name, width in _COLUMNS)
"""For `squeue --Format`: columns of fixed width, because texts of people may hold any separator."""

ENDED: Final = frozenset({
    "BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY",
    "PREEMPTED", "REVOKED", "TIMEOUT",
})  # fmt: skip

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+-]{0,99}")
_PASSING = re.compile(
    "try again later|unable to contact slurm|connection refused|socket timed out|zero bytes were "
    "transmitted|temporarily unable|resource temporarily|slurmctld agent|job is in transitional "
    "state|job is completing|job is pending execution|communication connection failure|"
    "transport endpoint",
    re.IGNORECASE,
)
_MAYBE_TAKEN = re.compile("timed out|zero bytes were transmitted", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SlurmConfig:
    """How the job of a run is found and started.

    job: its name in Slurm. user: whose job; "": of the user that Lastgood runs as.
    script: submitted as a new job; "": the job is requeued. workdir: of the new job; "": the folder
    of the script. drain: take excluded nodes out of service, for every job.
    """

    job: str
    user: str = ""
    script: str = ""
    workdir: str = ""
    drain: bool = False


@dataclass(frozen=True, slots=True)
class Job:
    """One line of `squeue`."""

    id: str
    state: str
    restarts: int
    comment: str

    @property
    def ended(self) -> bool:
        """Whether it holds no node any more and will not run again by itself."""
        return self.state in ENDED


def config(said: Mapping[str, Any], folders: Sequence[str]) -> SlurmConfig:
    """The configuration as a person entered it, checked. AppError names the field at fault.

    folders: below one of them a script has to lie.
    """
    job = str(said.get("job", "")).strip()
    _check_name(job, "job", "the name of a job")
    user = str(said.get("user", "")).strip()
    if user:
        _check_name(user, "user", "the name of a user")
    if user and said.get("script"):
        raise AppError(
            "a script is submitted as the user that Lastgood runs as", where="user",
            hint="leave the user empty, or leave the script empty to requeue that user's job",
        )  # fmt: skip
    script, workdir = _path(said, "script"), _path(said, "workdir")
    if script and not any(_below(script, folder) for folder in folders):
        raise AppError(
            f"{script} may not be submitted", where="script",
            hint=f"SLURM_SCRIPTS names the folders: {', '.join(folders) or 'none is set'}",
        )  # fmt: skip
    return SlurmConfig(job, user, script, workdir, bool(said.get("drain")))


def jobs(text: str) -> tuple[Job, ...]:
    """The jobs that `squeue --noheader --Format COLUMNS` printed, smallest number first."""
    found = [_job(line) for line in text.splitlines() if line.strip()]
    return tuple(sorted(found, key=lambda job: (len(job.id), job.id)))


def the_one(found: Collection[Job], name: str) -> Job | None:
    """The job that is meant by a name: the one that has not ended, else the newest, None without
    any. AppError if several have not ended: nobody may guess which one to stop."""
    alive = [job for job in found if not job.ended]
    if len(alive) > 1:
        numbers = ", ".join(job.id for job in alive)
        raise AppError(
            f"{len(alive)} jobs are called {name}: {numbers}",
            hint="give the job of each run a name of its own, or cancel the old ones",
        )
    return alive[0] if alive else max(found, key=lambda job: (len(job.id), job.id), default=None)


def nodes(wanted: Sequence[str], known: Collection[str]) -> tuple[str, ...]:
    """Our names of nodes as Slurm knows them: the same, or without the domain. AppError for others.

    Slurm would read brackets and commas in a name as a list: only plain names get this far.
    """
    return tuple(dict.fromkeys(_node(name, known) for name in wanted))


def passing(text: str) -> bool:
    """Whether an error goes by itself, so that the same command may be given again later."""
    return bool(_PASSING.search(text))


def maybe_taken(text: str) -> bool:
    """Whether the controller may have done what was asked although the command failed."""
    return bool(_MAYBE_TAKEN.search(text))


def memory_s(shown: str) -> int:
    """For how long Slurm certainly remembers a job, of `scontrol show config`: two thirds of
    MinJobAge, after which it forgets those that have ended. 0 if it is not said."""
    found = re.search(r"(?m)^MinJobAge\s*=\s*(\d+)", shown)
    return int(found[1]) * 2 // 3 if found else 0


def _node(name: str, known: Collection[str]) -> str:
    for candidate in (name, name.partition(".")[0]):
        if candidate in known and _NAME.fullmatch(candidate):
            return candidate
    raise AppError(
        f"Slurm knows no node called {name[:100]}",
        hint="order without it, or let agents report Slurm's NodeName",
    )


def _job(line: str) -> Job:
    values, at = [], 0
    for _, width in _COLUMNS:
        values.append(line[at : at + width].strip())
        at += width
    number, state, restarts, comment = values
    return Job(number, state, int(restarts or 0), "" if comment == "(null)" else comment)


def _check_name(text: str, where: str, what: str) -> None:
    if not _NAME.fullmatch(text):
        raise AppError(
            f"{what} is 1 to 100 letters, digits and . _ + -", where=where,
            hint="squeue takes a comma for a list",
        )  # fmt: skip


def _path(said: Mapping[str, Any], name: str) -> str:
    text = str(said.get(name, "")).strip()
    path = PurePosixPath(text)
    if text and (not path.is_absolute() or ".." in path.parts or not text.isprintable()):
        raise AppError("this is no absolute path", where=name, hint="such as /shared/train.sbatch")
    return str(path) if text else ""


def _below(path: str, folder: str) -> bool:
    return PurePosixPath(path).is_relative_to(PurePosixPath(folder))
