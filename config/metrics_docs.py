"""The tables of `docs/metrics.md`, written from the rules themselves."""

from __future__ import annotations

from apps.metrics.domain.layer_rules import RULES
from apps.metrics.domain.layer_statistics import BY_SLUG, STATISTICS
from apps.metrics.domain.roles import ROLES
from apps.metrics.domain.templates import HOLES


def role_table() -> str:
    """Each role with its usual names, as Markdown."""
    lines = ["| role | what for | guessed from, best first |", "|---|---|---|"]
    for role in ROLES:
        known = ", ".join(f"`{name}`" for name in role.known)
        lines.append(f"| `{role.slug}`: {role.words} | {role.help} | {known} |")
    return "\n".join(lines)


def rule_table() -> str:
    """Each built-in rule in its order, as Markdown."""
    lines = ["| pattern | statistic | written by |", "|---|---|---|"]
    for rule in RULES:
        words = BY_SLUG[rule.statistic].words if rule.statistic else "as `{statistic}` says"
        lines.append(f"| `{rule.pattern}` | {words} | {rule.source} |")
    return "\n".join(lines)


def statistic_table() -> str:
    """Each statistic with the words it is known by, as Markdown."""
    lines = ["| slug | words | also logged as |", "|---|---|---|"]
    for one in STATISTICS:
        others = ", ".join(f"`{alias}`" for alias in one.aliases if alias != one.words)
        lines.append(f"| `{one.slug}` | {one.words} | {others} |")
    return "\n".join(lines)


def hole_table() -> str:
    """Each hole of a pattern, as Markdown."""
    lines = ["| hole | what it takes |", "|---|---|"]
    lines += [f"| `{{{hole}}}` | {help_} |" for hole, help_ in HOLES.items()]
    return "\n".join(lines)


TABLES = {
    "roles": role_table,
    "holes": hole_table,
    "rules": rule_table,
    "statistics": statistic_table,
}
"""Name in the page -> what writes it."""


def filled(page: str) -> str:
    """The page with every table between its marks written anew."""
    for name, table in TABLES.items():
        head, mark, rest = page.partition(f"<!-- table: {name} -->\n")
        _, end, tail = rest.partition("<!-- end -->")
        page = f"{head}{mark}{table()}\n{end}{tail}"
    return page
