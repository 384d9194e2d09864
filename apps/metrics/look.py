"""One look of the detectors at an attempt: what several of them ask for is read once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from apps.metrics import naming
from apps.metrics.domain.planned import PlannedChange
from apps.metrics.domain.roles import Roles
from apps.metrics.planned import planned_of


@dataclass
class Look:
    """What is looked at. Its parts are read when they are first asked for, in the transaction of
    the look."""

    run_id: int
    attempt: int

    @cached_property
    def names(self) -> naming.Known:
        """The names of the run's series, and what people said about them."""
        return naming.known(self.run_id)

    @cached_property
    def roles(self) -> Roles:
        """Which series is the loss, the gradient norm, the learning rate, ..."""
        return self.names.roles

    @cached_property
    def planned(self) -> tuple[PlannedChange, ...]:
        """The changes that were planned, whoever said so."""
        return planned_of(self.run_id)
