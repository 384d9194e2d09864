"""Who acts: values without tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

SCOPES = ("read", "ingest", "operate", "admin")
"""admin: sets what counts for others, such as the thresholds of a project."""


ACTOR_KINDS = ("user", "token", "system", "mail", "stranger")
"""stranger: somebody who did not sign in, called by an address; mail: by the link of a mail."""


class Role(StrEnum):
    """What a person may do. Programs have scopes instead."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"


ROLE_SCOPES: Final[Mapping[Role, frozenset[str]]] = {
    Role.VIEWER: frozenset({"read"}),
    Role.OPERATOR: frozenset({"read", "operate"}),
    Role.ADMIN: frozenset(SCOPES),
}


@dataclass(frozen=True, slots=True)
class Actor:
    """A person, a token or Lastgood itself, with what it may do.

    bytes_s, requests_s: what a token may send in a second; None: what the settings say.
    address: where the request came from; "" for what no request asked for.
    """

    kind: str
    name: str
    scopes: frozenset[str]
    user_id: int | None = None
    token_id: int | None = None
    bytes_s: int | None = None
    requests_s: int | None = None
    address: str = ""

    def at(self, address: str) -> Actor:
        """The same actor, asking from an address."""
        return replace(self, address=address)

    def may(self, scope: str) -> bool:
        """Whether this actor has `scope`."""
        return scope in self.scopes


SYSTEM = Actor("system", "lastgood", frozenset(SCOPES))


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who may sign in, or could. seen_ns: the last sign-in, None before the first.
    password: whether one is set. linked: whether somebody of a provider is this person. Without
    either only a one-time link signs in."""

    id: int
    name: str
    email: str
    role: Role
    active: bool
    password: bool
    linked: bool
    made_ns: int
    seen_ns: int | None


@dataclass(frozen=True, slots=True)
class TokenInfo:
    """A token without its secret. made_by "": not known. used_ns: within some minutes.
    works: neither revoked nor past its end. maker_out: the person who made it is shut out."""

    id: int
    name: str
    scopes: tuple[str, ...]
    made_ns: int
    made_by: str
    used_ns: int | None
    ends_ns: int | None
    revoked_ns: int | None
    works: bool
    maker_out: bool


@dataclass(frozen=True, slots=True)
class AuditRow:
    """One line of the audit page. actor: kind and name, "user:ada". run_id 0: of no run. address:
    where the actor asked from, "" where no request did or that was not kept yet.

    Seals cover all fields in this order: with another one every older seal would look broken.
    """

    id: int
    at_ns: int
    actor: str
    action: str
    object: str
    before: dict[str, Any]
    after: dict[str, Any]
    reason: str
    run_id: int = 0
    request_id: str = ""
    address: str = ""


@dataclass(frozen=True, slots=True)
class AuditQuery:
    """Which lines of the audit trail are asked for; None and "" ask for nothing.

    actor: a name, or kind and name. action: how it begins. object: a part of it. from_ns: the first
    moment, to_ns: the first one that is not.
    """

    from_ns: int | None = None
    to_ns: int | None = None
    actor: str = ""
    action: str = ""
    object: str = ""
    run_id: int | None = None


@dataclass(frozen=True, slots=True)
class Seal:
    """Entries of the audit trail whose ids lie behind those of the seal before, up to last_id."""

    number: int
    last_id: int
    rows: int
    digest: str
    sealed_at_ns: int
    broken: bool = False


@dataclass(frozen=True, slots=True)
class ChainState:
    """How the seals stand. rows: entries that they cover. checked_ns: when the one that was not
    looked at for longest was checked. broken: the first ones that do not fit any more. head: the
    newest, None before the first."""

    seals: int
    rows: int
    checked_ns: int | None
    broken: tuple[Seal, ...]
    head: Seal | None
