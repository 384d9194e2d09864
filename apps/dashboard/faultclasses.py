"""What the pages of a project's fault classes show, and what their forms say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.http import QueryDict

from apps.core.errors import AppError, NotFound
from apps.core.words import whole
from apps.logs import faultclasses, reclassing, search
from apps.logs import store as logs
from apps.logs.domain.triage.classify import taxonomy
from apps.logs.domain.triage.faultclass import FaultClass
from apps.logs.domain.triage.ownclasses import (
    BLAMES,
    LAYERS,
    ROLE_WORDS,
    SEVERITIES,
    OwnClass,
    OwnClasses,
)
from apps.logs.domain.triage.owntaxonomy import can_be_off
from apps.logs.domain.triage.trying import Taken, Trial
from apps.logs.faultclasses import RunTrial
from apps.logs.records import LogEntry
from apps.runs import store as runs
from apps.runs.records import RunInfo

SHOWN_REVISIONS = 10
SHOWN_RUNS = 20
NEW = OwnClass("", "", ())
CHOICES = {"roles": ROLE_WORDS, "layers": LAYERS, "blames": BLAMES, "severities": SEVERITIES}


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """One built-in class. can_be_off: a project can do without it. off: this one does."""

    fault: FaultClass
    can_be_off: bool
    off: bool


@dataclass(frozen=True, slots=True)
class Row:
    """A line that the class under trial takes. at: its address in the logs page, "" if pasted."""

    taken: Taken
    at: str = ""
    entry: LogEntry | None = None


@dataclass(frozen=True, slots=True)
class Tried:
    """What became of a trial. text, run: None if that was not tried."""

    text: Trial | None = None
    text_rows: Sequence[Row] = ()
    run: RunTrial | None = None
    run_rows: Sequence[Row] = ()
    run_key: str = ""


def built_in(own: OwnClasses) -> list[BuiltIn]:
    """All built-in classes, by layer and title."""
    optional = can_be_off(taxonomy())
    known = sorted(taxonomy().classes.values(), key=lambda fault: (fault.layer, fault.title))
    return [BuiltIn(fault, optional[fault.id], fault.id in own.off) for fault in known]


def find(own: OwnClasses, key: str) -> OwnClass | None:
    """The class of that key."""
    return next((one for one in own.classes if one.key == key), None)


def read_class(sent: QueryDict) -> OwnClass:
    """The class as the form says it; nothing is checked yet."""
    said = {name: sent.get(name, "").strip() for name in ("key", "title", "action")}
    chosen = {name: sent.get(name, "") for name in ("role", "layer", "blame", "severity")}
    patterns = tuple(line for line in sent.get("patterns", "").splitlines() if line.strip())
    return OwnClass(**said, **chosen, patterns=patterns, on=sent.get("on") == "yes")


def with_class(own: OwnClasses, asked: OwnClass, key: str, version: str) -> OwnClasses:
    """The project's classes with one more, or with another version of the one called `key`."""
    if not key:
        classes = (*own.classes, asked)
    else:
        asked = replace(asked, key=key)
        classes = tuple(asked if one.key == key else one for one in own.classes)
    return replace(own, classes=classes, version=whole(version, 10**9) or 0)


def changed(own: OwnClasses, sent: QueryDict) -> OwnClasses:
    """What a button of the list asks for: a class on, off, up or removed; a built-in one on or
    off."""
    act, key = sent.get("act", ""), sent.get("key", "")
    version = whole(sent.get("version", ""), 10**9) or 0
    if act in ("use", "skip"):
        off = {*own.off} - {key} if act == "use" else {*own.off, key}
        return replace(own, off=tuple(sorted(off)), version=version)
    if find(own, key) is None:
        raise NotFound(f"there is no class {key[:60]!r} any more", hint="look at the list again")
    return replace(own, classes=_moved(own.classes, act, key), version=version)


def _moved(classes: Sequence[OwnClass], act: str, key: str) -> tuple[OwnClass, ...]:
    if act == "remove":
        return tuple(one for one in classes if one.key != key)
    if act == "up":
        at = next(at for at, one in enumerate(classes) if one.key == key)
        before = classes[: max(at - 1, 0)]
        return (*before, classes[at], *(one for one in classes[len(before) :] if one.key != key))
    if act in ("on", "off"):
        return tuple(replace(one, on=act == "on") if one.key == key else one for one in classes)
    raise AppError("the form asks for nothing that is known", where="act", hint="send it again")


def recent(project: str) -> list[RunInfo]:
    """The runs on which a class can be tried."""
    return runs.newest_runs(project, SHOWN_RUNS)


def tried(project: str, key: str, asked: OwnClass, sent: QueryDict) -> Tried:
    """The typed patterns against pasted lines and a run. Raises BadFaultClass."""
    test = faultclasses.tester(project, key or asked.key, asked.patterns)
    text, run_key = sent.get("text", ""), sent.get("run", "")
    found = Tried()
    if text.strip():
        on_text = faultclasses.try_on_text(test, text)
        found = Tried(on_text, [Row(one) for one in on_text.taken])
    run = next((one for one in recent(project) if one.key == run_key), None)
    if run is None:
        return found
    on_run = faultclasses.try_on_run(test, run)
    if on_run is None:
        return replace(found, run_key=run.key)
    rows = [Row(one, search.line_cursor(entry), entry) for one, entry in on_run.taken]
    return replace(found, run=on_run, run_rows=rows, run_key=run.key)


def context(own: OwnClasses, project: str) -> dict[str, Any]:
    """What both pages show."""
    waiting = reclassing.waiting(project)
    return {"own": own, "choices": CHOICES, "recent": recent(project), "waiting": waiting}


def revisions(project: str) -> list[OwnClasses]:
    """The newest changes."""
    return logs.revisions(project, SHOWN_REVISIONS)
