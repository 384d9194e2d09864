"""What the people of a project said about the names of its metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from apps.core.errors import AppError
from apps.metrics.domain.layer_keys import Recogniser, recogniser
from apps.metrics.domain.layer_rules import MAX_OWN_RULES, Rule, checked
from apps.metrics.domain.roles import BY_SLUG, Roles, guess, resolve

MAX_NAME_CHARS = 500


@dataclass(frozen=True, slots=True)
class Naming:
    """roles: role -> series, None: there is none; a role that is not in it is guessed. rules: read
    before the built-in ones. version: grows with each change, 0 before the first."""

    roles: Mapping[str, str | None] = field(default_factory=dict)
    rules: tuple[Rule, ...] = ()
    version: int = 0
    changed_at_ns: int = 0
    changed_by: str = ""

    def apply(self, keys: Sequence[str], rank_keys: Sequence[str] = ()) -> Roles:
        """The roles of the keys of a run."""
        return resolve(guess(keys, rank_keys), self.roles, (*keys, *rank_keys))

    def fixed(self, keys: Sequence[str]) -> dict[str, str | None]:
        """What was said about the roles the loss detector reads, as far as it applies to `keys`."""
        return {
            slug: name
            for slug, name in self.roles.items()
            if BY_SLUG[slug].watched and not BY_SLUG[slug].ranked and (not name or name in keys)
        }

    def watched(self) -> list[str]:
        """The named series that a detector reads."""
        return [name for slug, name in self.roles.items() if name and BY_SLUG[slug].watched]

    def recogniser(self) -> Recogniser:
        """The reader of per-layer names."""
        return recogniser(self.rules)


def checked_naming(roles: Mapping[str, Any], rules: Sequence[Rule]) -> Naming:
    """What somebody wants to say, without a version; AppError names the entry at fault."""
    for slug, name in roles.items():
        if slug not in BY_SLUG:
            hint = f"roles are {', '.join(BY_SLUG)}"
            raise AppError(f'"{slug[:40]}" is no role', where="roles", hint=hint)
        if name is not None and not (isinstance(name, str) and 0 < len(name) <= MAX_NAME_CHARS):
            hint = f"1 to {MAX_NAME_CHARS} characters, or null for none"
            raise AppError("that is no name of a series", where=f"roles.{slug}", hint=hint)
        if name is not None and "\0" in name:
            raise AppError("a name holds no NUL", where=f"roles.{slug}")
    if len(rules) > MAX_OWN_RULES:
        raise AppError(f"a project has at most {MAX_OWN_RULES} rules", where="rules")
    for at, rule in enumerate(rules):
        _check_rule(at, rule)
    return Naming(dict(roles), tuple(rules))


def _check_rule(at: int, rule: Rule) -> None:
    if "\0" in rule.pattern:
        raise AppError("a pattern holds no NUL", where=f"rules[{at}].pattern")
    try:
        checked(rule)
    except AppError as error:
        raise AppError(
            error.message, hint=error.hint, where=f"rules[{at}].{error.where}"
        ) from error
