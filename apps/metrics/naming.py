"""Which series is what: guesses, and what people of a project said instead."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from django.db import transaction

from apps.accounts.records import Actor
from apps.accounts.services import audit
from apps.core.errors import AppError
from apps.metrics import store
from apps.metrics.domain.layer_keys import Recogniser
from apps.metrics.domain.naming import Naming, checked_naming
from apps.metrics.domain.roles import Roles
from apps.runs import store as runs

LOOK_BACK_STEPS = 4_000
"""How much of a running attempt is judged again by its new names."""


class Overtaken(AppError):
    """Somebody else changed the names in between."""

    status = 409


@dataclass(frozen=True, slots=True)
class Known:
    """What is known about the names of one run."""

    naming: Naming
    keys: list[str]
    rank_keys: list[str]

    @property
    def roles(self) -> Roles:
        """Which series is the loss, the gradient norm, the learning rate, ..."""
        return self.naming.apply(self.keys, self.rank_keys)


def known(run_id: int) -> Known:
    """The names of a run and what was said about them. Two statements, no look at blocks."""
    return Known(store.naming_of_run(run_id), *store.all_names(run_id))


def roles_of(run_id: int) -> Roles:
    """The roles of a run."""
    return known(run_id).roles


def recogniser_of(run_id: int) -> Recogniser:
    """The reader of per-layer names by the rules of the run's project."""
    return store.naming_of_run(run_id).recogniser()


def save(project: str, asked: Naming, actor: Actor, now_ns: int) -> list[tuple[int, int]]:
    """Stores what somebody says about the names of a project; (run, attempt) to analyse again.

    asked.version: the one that was looked at; Overtaken if it is no longer the newest. AppError
    for a bad role or rule. Attempts that were heard of within the hour get a note to be judged
    again over their last LOOK_BACK_STEPS steps: their detectors then start anew on the new series,
    seeded from stored points, and take back what only the old series said. All in one transaction,
    which holds the rows of these runs, so that no writer works by the old names meanwhile.
    """
    fresh = checked_naming(asked.roles, asked.rules)
    with transaction.atomic():
        live = runs.live_runs(project)
        runs.lock_runs(live)
        before = store.naming_of(project)
        if before.version != asked.version:
            raise _overtaken(before)
        if (dict(before.roles), before.rules) == (dict(fresh.roles), fresh.rules):
            return []
        after = replace(
            fresh, version=before.version + 1, changed_at_ns=now_ns, changed_by=actor.name
        )
        if not store.save_naming(project, after):
            raise _overtaken(store.naming_of(project))
        audit(
            actor,
            "names.changed",
            f"project {project or '-'}",
            before=_told(before),
            after=_told(after),
        )
        return note_again(live) if dict(before.roles) != dict(after.roles) else []


def _overtaken(newest: Naming) -> Overtaken:
    return Overtaken(
        f"{newest.changed_by or 'somebody'} changed these names meanwhile",
        hint="look at them again, then repeat your change",
    )


def _told(naming: Naming) -> dict[str, Any]:
    rules = [f"{rule.pattern} = {rule.statistic or '{statistic}'}" for rule in naming.rules]
    return {"roles": dict(naming.roles), "rules": rules}


def note_again(run_ids: list[int]) -> list[tuple[int, int]]:
    """Notes for the newest attempts of these runs that detectors are to judge their last
    LOOK_BACK_STEPS steps again; (run, attempt) of those that have steps."""
    noted = []
    for run_id in run_ids:
        newest = runs.attempt(run_id, None)
        if newest is None or newest.last_step is None:
            continue
        first = newest.first_step or 0
        from_step = max(first, newest.last_step - LOOK_BACK_STEPS)
        store.note_again(run_id, newest.number, from_step)
        noted.append((run_id, newest.number))
    return noted
