"""Roles as pages name them. Values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from apps.accounts.records import Actor, Role


@dataclass(frozen=True, slots=True)
class RoleWords:
    """title: in a list; may: what somebody of this role can do, as a sentence."""

    role: Role
    title: str
    may: str


ROLE_WORDS: Final[tuple[RoleWords, ...]] = (
    RoleWords(Role.VIEWER, "Viewer", "Reads everything and changes nothing but their own mails."),
    RoleWords(
        Role.OPERATOR,
        "Operator",
        "Acts on runs and incidents: acknowledges, orders rollbacks, marks hosts and checkpoints.",
    ),
    RoleWords(
        Role.ADMIN,
        "Administrator",
        "Does all of that, and sets what counts for others: people, tokens, alerts, thresholds.",
    ),
)
_SCOPE_ROLES: Final[Mapping[str, str]] = {"operate": "operator", "admin": "administrator"}


def needed(scope: str) -> str:
    """The lowest role that has a scope, in words; everybody signed in may read."""
    return _SCOPE_ROLES.get(scope, "viewer")


def words_of(person: Actor | None) -> RoleWords:
    """The role of somebody who is signed in."""
    viewer, operator, admin = ROLE_WORDS
    if person is None or not person.may("operate"):
        return viewer
    return admin if person.may("admin") else operator
