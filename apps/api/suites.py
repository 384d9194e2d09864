"""Suites: the commands that evaluate checkpoints of a project."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja import Router, Schema

from apps.api.auth import caller, needs
from apps.api.errors import Missing
from apps.api.names import named_project
from apps.checkpoints import jobs_store, suites
from apps.checkpoints.domain.evaluating import Suite
from apps.checkpoints.jobs_store import SuiteInfo
from apps.core.clock import now_ns

router = Router(auth=needs("read"))


class SuiteIn(Schema):
    """argv: the words of the command; the first one of EVALUATION_PROGRAMS, and {output} in one of
    them. every_steps: null: only when asked."""

    name: str
    argv: list[str]
    timeout_s: int = 4 * 3_600
    tries: int = 2
    every_steps: int | None = None
    enabled: bool = True


class SuiteChange(SuiteIn):
    """version: the one that was read; 409 when it is no longer the newest."""

    version: int


class SuiteOut(SuiteIn):
    id: int
    version: int
    changed_by: str
    changed_at_ns: int


class SuiteList(Schema):
    """programs: what suites may start here."""

    items: list[SuiteOut]
    programs: list[str]


def _shape(info: SuiteInfo) -> dict[str, Any]:
    said = {name: getattr(info.suite, name) for name in SuiteIn.model_fields}
    about = ("id", "version", "changed_by", "changed_at_ns")
    return said | {name: getattr(info, name) for name in about}


def _asked(payload: SuiteIn) -> Suite:
    said = {name: getattr(payload, name) for name in SuiteIn.model_fields}
    return Suite(**said | {"argv": tuple(payload.argv)})


def _known(project: str, number: int) -> SuiteInfo:
    found = jobs_store.suite(number)
    if found is None or found.project != named_project(project):
        raise Missing("this project has no such suite", where="number")
    return found


@router.get("/projects/{path:project}/suites", response=SuiteList, summary="Suites, by name")
def list_suites(request: HttpRequest, project: str) -> dict[str, Any]:
    found = jobs_store.suites(named_project(project))
    return {"items": list(map(_shape, found)), "programs": list(suites.programs())}


@router.post(
    "/projects/{path:project}/suites",
    response=SuiteOut,
    auth=needs("admin"),
    summary="Set a command that evaluates checkpoints",
)
def add_suite(request: HttpRequest, project: str, payload: SuiteIn) -> dict[str, Any]:
    who, at_ns = caller(request), now_ns()
    return _shape(suites.add(named_project(project), _asked(payload), who, at_ns))


@router.put(
    "/projects/{path:project}/suites/{number}",
    response=SuiteOut,
    auth=needs("admin"),
    summary="Replace a suite",
)
def change_suite(
    request: HttpRequest, project: str, number: int, payload: SuiteChange
) -> dict[str, Any]:
    _known(project, number)
    who, at_ns = caller(request), now_ns()
    return _shape(suites.change(number, _asked(payload), payload.version, who, at_ns))


@router.delete(
    "/projects/{path:project}/suites/{number}",
    response=SuiteOut,
    auth=needs("admin"),
    summary="Take a suite away; what it measured stays",
)
def remove_suite(request: HttpRequest, project: str, number: int) -> dict[str, Any]:
    _known(project, number)
    return _shape(suites.remove(number, caller(request)))
