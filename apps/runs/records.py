"""Runs, attempts and placements as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from apps.core.times import ns_of


@dataclass(frozen=True, slots=True)
class RunInfo:
    """One training effort across restarts. last_step: of the newest attempt.

    last_contact_at: when the server received something of it last. silence_s: a longer silence is
    no contact; usual_gap_s: what is usual; both learned from the run, None: not yet. lag_s: how far
    our writer is behind; no silence of the run counts it. started_by: whom its process names.
    owner: the person who has taken it. "" for nobody.
    """

    id: int
    key: str
    project: str
    state: str
    world_size: int | None
    config: dict[str, Any]
    created_at: datetime
    last_contact_at: datetime | None
    last_step: int | None
    silence_s: float | None = None
    usual_gap_s: float | None = None
    lag_s: float = 0.0
    started_by: str = ""
    owner: str = ""

    @property
    def contact_ns(self) -> int | None:
        """last_contact_at as nanoseconds."""
        return ns_of(self.last_contact_at)


@dataclass(frozen=True, slots=True)
class AttemptInfo:
    """One launch of a run. fork_step: first step logged after a restart, or the one after the step
    that it rewound to; None for the first.

    last_step and last_row_ns are those of rows of the whole job, last_ns of anything.
    continued_by: the attempt the same processes went on with after they went back to a lower step.
    """

    run_id: int
    number: int
    parent: int | None
    fork_step: int | None
    first_step: int | None
    last_step: int | None
    started_ns: int
    last_ns: int | None
    state: str
    exit_code: int | None = None
    last_row_ns: int | None = None
    continued_by: int | None = None


@dataclass(frozen=True, slots=True)
class EndedWell:
    """An attempt that ended with exit code 0. ended_ns: when it last said anything."""

    run_id: int
    attempt: int
    project: str
    ended_ns: int


@dataclass(frozen=True, slots=True)
class PlacementInfo:
    """Where a rank of one attempt runs."""

    rank: int
    node: str
    local_rank: int | None
    device: str | None = None


@dataclass(frozen=True, slots=True)
class LaunchSeen:
    """One start of one source, as its agent announces it.

    slot: what can run only once in an attempt ("torchrun:gpu-a01", "wandb").
    launch: stable id of this start. resume_step: the step it says it resumes from.
    """

    slot: str
    launch: str
    started_ns: int
    node: str | None = None
    resume_step: int | None = None


@dataclass(frozen=True, slots=True)
class Start:
    """One known start: the attempt it was given, its slot, the step it says it resumes from."""

    attempt: int
    slot: str
    resume_step: int | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """What a batch says about an attempt; None where it says nothing.

    first_step, last_step, last_row_ns: of rows of the whole job. last_ns: of anything.
    """

    first_step: int | None = None
    last_step: int | None = None
    last_ns: int | None = None
    last_row_ns: int | None = None
    project: str | None = None
    world_size: int | None = None
    exit_code: int | None = None
    config: Mapping[str, Any] = field(default_factory=dict)
    summary: Mapping[str, Any] = field(default_factory=dict)
