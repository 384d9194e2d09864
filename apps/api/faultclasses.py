"""The fault classes of a project, and what one would take."""

from __future__ import annotations

from typing import Any, Literal

from django.http import HttpRequest, HttpResponse
from ninja import Field, Router, Schema

from apps.api.auth import caller, needs
from apps.api.lookup import run_of
from apps.api.names import named_project
from apps.core.clock import now_ns
from apps.core.errors import NotFound
from apps.core.places import SEARCHES, busy
from apps.ingest.faultclasses import change
from apps.logs import faultclasses, reclassing
from apps.logs import store as logs
from apps.logs.domain.triage.classify import taxonomy
from apps.logs.domain.triage.ownclasses import MAX_CLASSES, OwnClass, OwnClasses
from apps.logs.domain.triage.trying import MAX_PASTED_CHARS, Taken

router = Router(auth=needs("read"))


class FaultClassShape(Schema):
    """patterns: RE2, looked for in a line behind its time, level and rank. severity: the least of
    its lines. on: false keeps it without using it."""

    key: str
    title: str
    patterns: list[str]
    role: Literal["cause", "symptom", "either", "confirm"] = "cause"
    layer: str = "app"
    blame: str = "unknown"
    action: str = ""
    severity: Literal["warning", "error", "critical"] = "error"
    on: bool = True


class BuiltInShape(Schema):
    """A class of Lastgood. off: it takes no line in this project."""

    key: str
    title: str
    role: str
    layer: str
    blame: str
    action: str
    off: bool


class ReclassingOut(Schema):
    """An attempt whose stored lines are getting the newest classes: done lines of total, which is
    null before it begins. Until then its verdict goes by the classes before."""

    run: str
    attempt: int
    done: int
    total: int | None


class FaultClassesOut(Schema):
    """taxonomy: the version that is stored with lines and verdicts. unread_lines: of this version,
    those that took too long to be read by its patterns. reclassing: attempts with many lines that
    do not have it yet."""

    project: str
    version: int
    taxonomy: str
    changed_at_ns: int
    changed_by: str
    unread_lines: int
    reclassing: list[ReclassingOut]
    classes: list[FaultClassShape]
    built_in: list[BuiltInShape]


class FaultClassesIn(Schema):
    """Replaces all classes of the project. version: the one that was read (0: nothing yet); 409
    when it is no longer the newest. off: keys of built-in classes to do without. reason: goes into
    the audit trail."""

    version: int
    classes: list[FaultClassShape] = Field(default_factory=list, max_length=MAX_CLASSES)
    off: list[str] = Field(default_factory=list, max_length=1_000)
    reason: str = Field(default="", max_length=2_000)


class TrialIn(Schema):
    """Patterns to try on pasted lines and on the newest attempt of a run of the project. key: of
    the class that they would replace."""

    patterns: list[str] = Field(max_length=20)
    key: str = ""
    text: str = Field(default="", max_length=MAX_PASTED_CHARS)
    run: str = ""


class TakenShape(Schema):
    """line: before + found + after. without_it: key of the class that the line has otherwise."""

    before: str
    found: str
    after: str
    pattern: int
    without_it: str | None
    built_in: bool
    rank: int | None = None
    node: str | None = None
    time_ns: int | None = None


class TrialOut(Schema):
    """matches: how many lines match. taken: the first of them, of a run the newest. lines: how many
    were searched (of a run about), of `of`."""

    matches: int
    lines: int
    of: int
    taken: list[TakenShape]


class TrialsOut(Schema):
    """What was tried; null for what was not asked for, or has no lines."""

    text: TrialOut | None
    run: TrialOut | None


def _shape(project: str) -> dict[str, Any]:
    own = logs.own_classes(project)
    base = taxonomy()
    return {
        "project": project,
        "version": own.version,
        "taxonomy": f"{base.label}.{own.version}" if own.version else base.label,
        "changed_at_ns": own.changed_at_ns,
        "changed_by": own.changed_by,
        "unread_lines": own.unread_lines,
        "reclassing": reclassing.waiting(project),
        "classes": own.classes,
        "built_in": [
            {
                "key": fault.id,
                "title": fault.title,
                "role": fault.role,
                "layer": fault.layer,
                "blame": fault.blame,
                "action": fault.action,
                "off": fault.id in own.off,
            }
            for fault in base.classes.values()
        ],
    }


@router.get(
    "/projects/{path:project}/fault-classes",
    response=FaultClassesOut,
    summary="The fault classes that count for a project",
    description="Its own, in the order in which they are tried, then the built-in ones. "
    'The project "-" is the runs without one.',
)
def get_fault_classes(request: HttpRequest, project: str) -> dict[str, Any]:
    return _shape(named_project(project))


@router.put(
    "/projects/{path:project}/fault-classes",
    response=FaultClassesOut,
    auth=needs("admin"),
    summary="Set the fault classes of a project",
)
def put_fault_classes(
    request: HttpRequest, project: str, payload: FaultClassesIn
) -> dict[str, Any]:
    classes = tuple(
        OwnClass(**{**one.dict(), "patterns": tuple(one.patterns)}) for one in payload.classes
    )
    asked = OwnClasses(classes, tuple(payload.off), payload.version)
    name = named_project(project)
    change(name, asked, actor=caller(request), reason=payload.reason, now_ns=now_ns())
    return _shape(name)


@router.post(
    "/projects/{path:project}/fault-classes/try",
    response=TrialsOut,
    auth=needs("operate"),
    summary="Which lines patterns would take",
    description="Nothing is stored. Of a run only lines that hold a text of the patterns are read, "
    "the newest first, for about five seconds at most.",
)
def try_fault_class(
    request: HttpRequest, project: str, payload: TrialIn
) -> dict[str, Any] | HttpResponse:
    release = SEARCHES.take()
    if release is None:
        return busy()
    try:
        return _tried(named_project(project), payload)
    finally:
        release()


def _tried(name: str, payload: TrialIn) -> dict[str, Any]:
    test = faultclasses.tester(name, payload.key, payload.patterns)
    found: dict[str, Any] = {"text": None, "run": None}
    if payload.text:
        trial = faultclasses.try_on_text(test, payload.text)
        found["text"] = {
            "matches": trial.count,
            "lines": trial.read,
            "of": trial.read + trial.unread,
            "taken": [_taken(one) for one in trial.taken],
        }
    if payload.run:
        run = run_of(payload.run)
        if run.project != name:
            raise NotFound("no such run in this project", where="run")
        found["run"] = _of_run(faultclasses.try_on_run(test, run))
    return found


def _of_run(tried: faultclasses.RunTrial | None) -> dict[str, Any] | None:
    if tried is None:
        return None
    return {
        "matches": tried.trial.count,
        "lines": tried.searched,
        "of": tried.total,
        "taken": [
            {**_taken(one), "rank": line.rank, "node": line.node, "time_ns": line.time_ns}
            for one, line in tried.taken
        ],
    }


def _taken(one: Taken) -> dict[str, Any]:
    return {
        "before": one.before,
        "found": one.found,
        "after": one.after,
        "pattern": one.pattern,
        "without_it": None if one.instead is None else one.instead.id,
        "built_in": one.built_in,
    }
