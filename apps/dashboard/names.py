"""The page of metric names of a project: what is what, and what the rules make of the names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.http import QueryDict

from apps.core.errors import AppError
from apps.metrics import naming
from apps.metrics import store as metrics
from apps.metrics.domain.layer_keys import LayerKey
from apps.metrics.domain.layer_preview import Preview, preview
from apps.metrics.domain.layer_rules import MAX_OWN_RULES, Rule
from apps.metrics.domain.layer_statistics import BY_SLUG
from apps.metrics.domain.naming import Naming, checked_naming
from apps.metrics.domain.roles import ROLES, Role, guess
from apps.runs import store as runs
from apps.runs.records import RunInfo

NO_PROJECT = "-"
"""Stands in addresses for the runs that name no project."""
SHOWN_RUNS = 20
SHOWN_NAMES = 200
SUGGESTED = 500
EMPTY_ROWS = 2


@dataclass(frozen=True, slots=True)
class RoleLine:
    """One role. used: the series that has it in the run that is looked at. how: guessed, said,
    missing (said, but this run does not log it, so the guess counts) or none."""

    role: Role
    said: str | None
    none: bool
    guessed: str | None
    used: str | None
    how: str
    value: float | None


@dataclass(frozen=True, slots=True)
class RuleLine:
    """An own rule and the names it decides."""

    rule: Rule
    hits: Sequence[tuple[str, LayerKey]]
    total: int


@dataclass(frozen=True, slots=True)
class Effect:
    """What roles and rules do to the names of one run; error: why they cannot be tried."""

    roles: Sequence[RoleLine]
    rules: Sequence[RuleLine] = ()
    built_in: Sequence[tuple[str, int, Sequence[tuple[str, LayerKey]]]] = ()
    found: Preview | None = None
    error: AppError | None = None

    @property
    def recognised(self) -> int:
        """How many names speak of a layer."""
        return self.found.total - len(self.found.unmatched) if self.found else 0

    @property
    def unmatched(self) -> Sequence[str]:
        """The first names no rule reads."""
        return self.found.unmatched[:SHOWN_NAMES] if self.found else ()

    @property
    def conflicts(self) -> Sequence[tuple[str, LayerKey, LayerKey]]:
        """The first names two own rules disagree about."""
        return self.found.conflicts[:SHOWN_NAMES] if self.found else ()


@dataclass(frozen=True, slots=True)
class Scene:
    """A project, what was said about it, and the run its names are looked at in."""

    project: str
    naming: Naming
    run: RunInfo | None
    recent: Sequence[RunInfo]
    keys: Sequence[str] = ()
    rank_keys: Sequence[str] = ()
    values: Mapping[str, float] = field(default_factory=dict)

    @property
    def named(self) -> str:
        """The project as people call it."""
        return self.project or "runs without a project"


def scene(project: str, run_key: str | None = None) -> Scene:
    """The project seen in one of its runs, the newest unless another is asked for."""
    said = metrics.naming_of(project)
    recent = runs.newest_runs(project, SHOWN_RUNS)
    asked = runs.get_run(run_key) if run_key else None
    run = asked if asked is not None and asked.project == project else next(iter(recent), None)
    if run is None:
        return Scene(project, said, None, recent)
    known = naming.known(run.id)
    return Scene(
        project, said, run, recent, known.keys, known.rank_keys, _values(run, known.roles.every())
    )


def _values(run: RunInfo, roles: Mapping[str, str | None]) -> dict[str, float]:
    newest = runs.attempt(run.id, None)
    names = [name for name in roles.values() if name]
    if newest is None or not names:
        return {}
    return {n: value for n, (_, _, value) in metrics.latest(run.id, newest.number, names).items()}


def read_form(posted: QueryDict) -> Naming:
    """What the form says. A role left empty is guessed; a rule without a pattern is dropped."""
    roles: dict[str, str | None] = {}
    for role in ROLES:
        name = posted.get(f"role-{role.slug}", "").strip()
        if posted.get(f"none-{role.slug}"):
            roles[role.slug] = None
        elif name:
            roles[role.slug] = name
    patterns, statistics = posted.getlist("pattern"), posted.getlist("statistic")
    rules = [
        Rule(pattern.strip(), statistic)
        for pattern, statistic in zip(patterns, statistics, strict=False)
        if pattern.strip()
    ]
    version = posted.get("version", "")
    at = int(version) if version.isascii() and version.isdigit() and len(version) < 9 else 0
    return Naming(roles, tuple(rules[: MAX_OWN_RULES + 1]), at)


def effect(place: Scene, asked: Naming) -> Effect:
    """What `asked` would do to the names of the run."""
    lines = [_line(place, asked, role) for role in ROLES]
    try:
        checked_naming(asked.roles, asked.rules)
        found = preview(place.keys, asked.rules)
    except AppError as error:
        return Effect(lines, error=error)
    own = [
        RuleLine(rule, hits[:SHOWN_NAMES], len(hits))
        for rule in asked.rules
        for hits in [found.by_rule.get(rule.pattern, [])]
    ]
    return Effect(lines, own, _built_in(found, asked.rules), found)


def _built_in(
    found: Preview, own: Sequence[Rule]
) -> list[tuple[str, int, Sequence[tuple[str, LayerKey]]]]:
    """statistic -> the names that the built-in rules read."""
    patterns = {rule.pattern for rule in own}
    groups: dict[str, list[tuple[str, LayerKey]]] = {}
    for pattern, hits in found.by_rule.items():
        for name, layer in hits if pattern not in patterns else ():
            groups.setdefault(BY_SLUG[layer.statistic].words, []).append((name, layer))
    return [(words, len(hits), hits[:SHOWN_NAMES]) for words, hits in groups.items()]


def _line(place: Scene, asked: Naming, role: Role) -> RoleLine:
    guessed = guess(place.keys, place.rank_keys).of(role.slug)
    used = asked.apply(place.keys, place.rank_keys).of(role.slug)
    said, none = asked.roles.get(role.slug), asked.roles.get(role.slug, "") is None
    if none:
        how = "none"
    elif said:
        how = "said" if used == said else "missing"
    else:
        how = "guessed" if used else "not found"
    value = place.values.get(used) if used else None
    return RoleLine(role, said, none, guessed, used, how, value)


def form_rules(asked: Naming) -> list[Rule]:
    """The rows of the form: the rules, and some empty ones to fill."""
    spare = min(EMPTY_ROWS, MAX_OWN_RULES - len(asked.rules))
    return [*asked.rules, *[Rule("")] * max(0, spare)]


def suggestions(place: Scene) -> dict[str, Any]:
    """Names to choose from: of the job without its layers, and of ranks."""
    reader = place.naming.recogniser()
    plain = [key for key in place.keys if reader.recognise(key) is None]
    return {"job": plain[:SUGGESTED], "ranks": list(place.rank_keys[:SUGGESTED])}
