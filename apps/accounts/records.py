"""Who acts: values without tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

SCOPES = ("read", "ingest", "operate", "admin")
"""admin: sets what counts for others, such as the thresholds of a project."""


@dataclass(frozen=True, slots=True)
class Actor:
    """A person, a token or Lastgood itself, with what it may do.

    bytes_s, requests_s: what a token may send in a second; None: what the settings say.
    """

    kind: str
    name: str
    scopes: frozenset[str]
    user_id: int | None = None
    token_id: int | None = None
    bytes_s: int | None = None
    requests_s: int | None = None

    def may(self, scope: str) -> bool:
        """Whether this actor has `scope`."""
        return scope in self.scopes


SYSTEM = Actor("system", "lastgood", frozenset(SCOPES))


@dataclass(frozen=True, slots=True)
class AuditRow:
    """One line of the audit page."""

    id: int
    at_ns: int
    actor: str
    action: str
    object: str
    before: dict[str, Any]
    after: dict[str, Any]
    reason: str
