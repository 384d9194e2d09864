"""Fault classes of a project: save them, and try one on lines before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from django.db import transaction

from apps.accounts.records import Actor
from apps.accounts.services import audit, require
from apps.core.errors import Conflict
from apps.logs import search, store
from apps.logs.domain.reading.segments import CONSOLE, TEE
from apps.logs.domain.triage.classify import taxonomy
from apps.logs.domain.triage.ownclasses import OwnClass, OwnClasses, checked
from apps.logs.domain.triage.owntaxonomy import can_be_off
from apps.logs.domain.triage.trying import MAX_SHOWN, Taken, Tester, Trial, others, pasted
from apps.logs.records import LogEntry, LogQuery
from apps.runs import store as runs
from apps.runs.records import RunInfo

MAX_LINES = 5_000
"""Lines of a run that hold a text of the patterns and are read by these."""
MAX_S = 5.0
MAX_CHUNKS = 300


@dataclass(frozen=True, slots=True)
class RunTrial:
    """A class against the newest attempt of a run. taken: with the line each is of. searched: about
    how many lines, the newest ones, of how many; all of them if not partial."""

    attempt: int
    trial: Trial
    taken: Sequence[tuple[Taken, LogEntry]]
    searched: int
    total: int
    partial: bool


def save(
    project: str, asked: OwnClasses, *, actor: Actor, reason: str, now_ns: int
) -> list[tuple[int, int]]:
    """Stores a revision; (run, attempt) to judge again. Audited. Needs the scope admin.

    asked.version: the one that was looked at; Conflict if it is no longer the newest,
    BadFaultClass for a class that cannot be used. Lines that come from now on get the new classes.
    Newest attempts that were heard of within the hour and have warnings or errors are judged
    again, those lines by the new classes.
    """
    require(actor, "admin")
    classes, off = _usable(project, asked)
    with transaction.atomic():
        live = runs.live_runs(project)
        runs.lock_runs(live)
        before = store.own_classes(project)
        if before.version != asked.version:
            raise _overtaken(before)
        if (before.classes, before.off) == (classes, off):
            return []
        after = OwnClasses(classes, off, before.version + 1, now_ns, actor.name[:200], reason)
        if not store.add_revision(project, after):
            raise _overtaken(store.own_classes(project))
        audit(
            actor,
            "fault_classes.changed",
            f"project {project or '-'}",
            before=_told(before),
            after=_told(after),
            reason=reason,
        )
        return store.mark_again(live)


def _usable(project: str, asked: OwnClasses) -> tuple[tuple[OwnClass, ...], tuple[str, ...]]:
    """The classes as checked() keeps them. A built-in class that was off and that this version no
    longer has is forgotten: nobody could switch it on."""
    built_in = can_be_off(taxonomy())
    gone = {one for one in store.own_classes(project).off if one not in built_in}
    return checked(asked.classes, {*asked.off} - gone, built_in)


def _overtaken(newest: OwnClasses) -> Conflict:
    return Conflict(
        f"{newest.changed_by or 'somebody'} changed these classes meanwhile",
        hint="look at them again, then repeat your change",
    )


def _told(own: OwnClasses) -> dict[str, Any]:
    named = {one.key: {**asdict(one), "patterns": list(one.patterns)} for one in own.classes}
    return {"version": own.version, "classes": named, "off": list(own.off)}


def tester(project: str, key: str, patterns: Sequence[str]) -> Tester:
    """Patterns of a class against the others of its project. Raises BadFaultClass."""
    kept = [pattern for pattern in patterns if pattern.strip()]
    return Tester(kept, others(store.own_classes(project), key), taxonomy())


def try_on_text(test: Tester, text: str) -> Trial:
    """The class against lines that somebody pasted."""
    return test.take(pasted(text), tee=True)


def try_on_run(test: Tester, run: RunInfo) -> RunTrial | None:
    """The class against the newest attempt of a run, newest lines first; None without lines.

    Only lines that hold a text of the patterns are read, at most MAX_LINES of them, for MAX_S at
    most.
    """
    newest = runs.attempt(run.id, None)
    if newest is None:
        return None
    page = search.page(
        LogQuery(
            run.id,
            newest.number,
            regex=test.regex,
            limit=MAX_LINES,
            newest_first=True,
            max_chunks=MAX_CHUNKS,
            max_s=MAX_S,
        )
    )
    partial = page.next_cursor is not None
    since_ns = search.cursor_ns(page.next_cursor) if page.next_cursor else None
    searched, total = store.line_counts(run.id, newest.number, since_ns)
    trial, taken = _by_channel(test, page.lines)
    return RunTrial(newest.number, trial, taken, searched, total, partial or trial.unread > 0)


def _by_channel(
    test: Tester, lines: Sequence[LogEntry]
) -> tuple[Trial, Sequence[tuple[Taken, LogEntry]]]:
    """Consoles have prefixes of their own."""
    whole = Trial((), 0, 0)
    taken: list[tuple[Taken, LogEntry]] = []
    for tee in (False, True):
        part = [line for line in lines if (line.channel in (CONSOLE, TEE)) == tee]
        found = test.take([line.text for line in part], tee=tee)
        taken += [(one, part[one.number]) for one in found.taken]
        whole = replace(
            whole,
            count=whole.count + found.count,
            read=whole.read + found.read,
            unread=whole.unread + found.unread,
        )
    taken.sort(key=lambda pair: -pair[1].time_ns)
    return whole, taken[:MAX_SHOWN]
