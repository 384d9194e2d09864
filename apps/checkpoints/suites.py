"""Suites: the commands that evaluate the checkpoints of a project."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction

from apps.accounts.records import Actor
from apps.accounts.services import audit, require
from apps.checkpoints import jobs_store as store
from apps.checkpoints.domain import evaluating
from apps.checkpoints.domain.evaluating import Suite
from apps.checkpoints.evaluations import checked_suite
from apps.checkpoints.jobs_store import SuiteInfo
from apps.core.errors import Conflict, NotFound, Refused

MAX_OF_PROJECT = 50


def programs() -> tuple[str, ...]:
    """What may be started on this machine; nothing until its operator says so."""
    return tuple(p for p in settings.EVALUATION_PROGRAMS if evaluating.is_program(p))


def add(project: str, asked: Suite, actor: Actor, now_ns: int) -> SuiteInfo:
    """Stores a new suite. Audited. Needs the scope admin.

    AppError for a wrong field or a program that is not allowed here, Conflict for a taken name.
    Checkpoints saved from now on are evaluated by themselves if it says so.
    """
    require(actor, "admin")
    suite = _checked(asked)
    try:
        with transaction.atomic():
            if store.suite_count(project) >= MAX_OF_PROJECT:
                raise Refused(f"a project has at most {MAX_OF_PROJECT} suites", where="name")
            if store.name_taken(project, suite.name):
                raise _taken(suite)
            values = {**_values(suite, actor, now_ns), "since_ns": now_ns}
            suite_id = store.add_suite(project, values)
            audit(actor, "evaluation_suite.added", _name(project, suite), after=_told(suite))
    except IntegrityError:
        raise _taken(suite) from None
    return _known(suite_id)


def change(suite_id: int, asked: Suite, version: int, actor: Actor, now_ns: int) -> SuiteInfo:
    """Stores another version. Audited. Needs the scope admin.

    version: the one that was looked at; Conflict if it is no longer the newest. Jobs that wait run
    the new command, one that runs is not touched. Where a suite begins to evaluate by itself, it
    does so from now on.
    """
    require(actor, "admin")
    before = _known(suite_id)
    suite = _checked(asked)
    try:
        with transaction.atomic():
            if store.name_taken(before.project, suite.name, suite_id):
                raise _taken(suite)
            values = _values(suite, actor, now_ns)
            if before.suite.every_steps is None or not before.suite.enabled:
                values["since_ns"] = now_ns
            if not store.change_suite(suite_id, version, values):
                raise Conflict(
                    f"{before.changed_by} changed this suite meanwhile",
                    hint="look at it again, then repeat your change",
                )
            what, was = _name(before.project, suite), _told(before.suite)
            audit(actor, "evaluation_suite.changed", what, before=was, after=_told(suite))
    except IntegrityError:
        raise _taken(suite) from None
    return _known(suite_id)


def remove(suite_id: int, actor: Actor) -> SuiteInfo:
    """Takes a suite away; results stay, jobs that wait fail when their turn comes. Audited."""
    require(actor, "admin")
    info = _known(suite_id)
    with transaction.atomic():
        store.remove_suite(suite_id)
        what = _name(info.project, info.suite)
        audit(actor, "evaluation_suite.removed", what, before=_told(info.suite))
    return info


def _checked(asked: Suite) -> Suite:
    named = replace(asked, name=checked_suite(asked.name))
    return evaluating.checked(named, programs())


def _known(suite_id: int) -> SuiteInfo:
    info = store.suite(suite_id)
    if info is None:
        raise NotFound("no such suite", where="suite")
    return info


def _values(suite: Suite, actor: Actor, now_ns: int) -> dict[str, Any]:
    return {
        "name": suite.name,
        **_told(suite),
        "changed_by": actor.name[:200],
        "changed_at_ns": now_ns,
    }


def _told(suite: Suite) -> dict[str, Any]:
    return {
        "argv": list(suite.argv),
        "timeout_s": suite.timeout_s,
        "tries": suite.tries,
        "every_steps": suite.every_steps,
        "enabled": suite.enabled,
    }


def _name(project: str, suite: Suite) -> str:
    return f"suite {suite.name} of project {project or '-'}"


def _taken(suite: Suite) -> Conflict:
    return Conflict(f'there is a suite called "{suite.name}"', where="name", hint="take another")
