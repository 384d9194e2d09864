"""Statements about projects as a whole: how many runs, since when, what each is for."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, Max, Min

from apps.core.times import ns_of
from apps.runs.models import ProjectAbout, Run

MAX_PROJECTS = 1_000


@dataclass(frozen=True, slots=True)
class About:
    """What a project is for. changed_at_ns 0: nobody has said anything."""

    text: str = ""
    changed_by: str = ""
    changed_at_ns: int = 0


@dataclass(frozen=True, slots=True)
class ProjectRow:
    """One project, "" for runs without one. first, newest: keys of runs."""

    name: str
    runs: int
    first: str
    first_ns: int
    newest: str
    about: str


def rows() -> list[ProjectRow]:
    """All projects by name. -- uses ix_run_project, the primary key"""
    grouped = Run.objects.values("project").order_by("project")
    spans = grouped.annotate(runs=Count("pk"), first=Min("pk"), newest=Max("pk"))[:MAX_PROJECTS]
    found = list(spans.values_list("project", "runs", "first", "newest"))
    ends = {run_id for _, _, first, newest in found for run_id in (first, newest)}
    known = {run.pk: run for run in Run.objects.filter(pk__in=ends).only("key", "created_at")}
    said = dict(ProjectAbout.objects.values_list("project", "text"))
    return [
        ProjectRow(
            name=name,
            runs=runs,
            first=known[first].key,
            first_ns=ns_of(known[first].created_at),
            newest=known[newest].key,
            about=said.get(name, ""),
        )
        for name, runs, first, newest in found
    ]


def about(project: str) -> About:
    """What was said of a project."""
    row = ProjectAbout.objects.filter(pk=project).first()
    return About(row.text, row.changed_by, row.changed_at_ns) if row else About()


def save_about(project: str, said: About) -> None:
    """Says what a project is for, in place of what was said before."""
    row = {"text": said.text, "changed_by": said.changed_by, "changed_at_ns": said.changed_at_ns}
    ProjectAbout.objects.update_or_create(project=project, defaults=row)
