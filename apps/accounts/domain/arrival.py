"""Who comes in through the provider, and as what: pure decision."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from apps.accounts.records import Role

EVERYBODY = "*"
"""In place of a group: whoever the provider lets through."""
_HIGHEST_FIRST = (Role.ADMIN, Role.OPERATOR, Role.VIEWER)


@dataclass(frozen=True, slots=True)
class Provider:
    """The OpenID Connect server that people sign in with, as the settings describe it.

    issuer: without a slash at its end.
    groups: role -> groups whose members have it; none at all: roles are as Lastgood has them.
    creates: whether somebody unknown becomes a person. trusts_mail: addresses count as verified
    where it does not say. passwords_for_all: else only administrators sign in with one.
    """

    issuer: str
    client_id: str
    client_secret: str = field(repr=False)
    name: str = "single sign-on"
    scopes: tuple[str, ...] = ("openid", "profile", "email")
    groups_claim: str = "groups"
    groups: Mapping[Role, frozenset[str]] = field(default_factory=dict)
    creates: bool = False
    trusts_mail: bool = False
    passwords_for_all: bool = True

    @property
    def gives_roles(self) -> bool:
        """Whether roles follow groups."""
        return any(self.groups.values())


@dataclass(frozen=True, slots=True)
class Claims:
    """What the provider says of somebody. names: what they might be called here, best first."""

    subject: str
    mail: str = ""
    verified: bool = False
    names: tuple[str, ...] = ()
    groups: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Known:
    """A person here. linked: to somebody of this provider. mail: as it is kept here."""

    id: int
    active: bool
    linked: bool
    mail: str


class Denial(StrEnum):
    """Why somebody whom the provider has let through does not come in."""

    UNKNOWN = "nobody here has this identity or mail address"
    NOT_VERIFIED = "the mail address is not verified"
    SEVERAL = "several people here have this mail address"
    OTHER_IDENTITY = "the person with this mail address has another identity"
    NO_GROUP = "none of the groups may sign in"
    SHUT_OUT = "shut out"
    NAME_TAKEN = "somebody has this name already"
    NO_NAME = "no name to call them by"


class Denied(Exception):
    """Somebody does not come in."""

    def __init__(self, denial: Denial) -> None:
        super().__init__(denial.value)
        self.denial = denial


def claims_of(said: Mapping[str, Any], provider: Provider) -> Claims:
    """The claims of a checked ID token, with those of the userinfo endpoint where it had none.

    A claim of another type than it should have counts as missing.
    """
    mail = _text(said.get("email"))
    verified = said.get("email_verified", provider.trusts_mail) in (True, "true")
    names = (_text(said.get("preferred_username")), mail if verified else "")
    return Claims(
        subject=said["sub"],
        mail=mail,
        verified=verified,
        names=tuple(name for name in names if name),
        groups=frozenset(_texts(_found(said, provider.groups_claim))),
    )


def lacks(said: Mapping[str, Any], provider: Provider) -> bool:
    """Whether an ID token leaves open what its userinfo endpoint may tell."""
    wanted = provider.gives_roles and _found(said, provider.groups_claim) is None
    return wanted or "email" not in said or "email_verified" not in said


def joined(said: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """The claims of an ID token, and those of the userinfo endpoint that it does not have. That an
    address is verified counts for that address alone."""
    found = {**more, **said}
    if more.get("email") != found.get("email"):
        found.pop("email_verified", None)
        found |= {name: said[name] for name in ("email_verified",) if name in said}
    return found


def role_of(groups: Collection[str], provider: Provider) -> Role | None:
    """The highest role of any of the groups; None: it is for Lastgood to say. Raises Denied."""
    if not provider.gives_roles:
        return None
    for role in _HIGHEST_FIRST:
        wanted = provider.groups.get(role, frozenset())
        if EVERYBODY in wanted or not wanted.isdisjoint(groups):
            return role
    raise Denied(Denial.NO_GROUP)


def whom(claims: Claims, linked: Known | None, same_mail: Sequence[Known]) -> Known | None:
    """Who of the people here this is; None: nobody. Raises Denied.

    linked: who has this identity. same_mail: who has this mail address, as Postgres compares them.
    An identity counts more than an address, and an address counts once: whoever has an identity is
    not found by it.
    """
    if linked is not None:
        return linked
    same = [one for one in same_mail if _is_same(one.mail, claims.mail)]
    if not same:
        return None
    if not claims.verified:
        raise Denied(Denial.NOT_VERIFIED)
    if len(same) > 1:
        raise Denied(Denial.SEVERAL)
    if same[0].linked:
        raise Denied(Denial.OTHER_IDENTITY)
    return same[0]


def _is_same(mail: str, other: str) -> bool:
    """But for the case of ASCII letters. The capital of a dotless i is I, and whoever has the
    domain that is spelled with one must not be taken for somebody of the other."""
    return mail.encode().lower() == other.encode().lower()


def _found(said: Mapping[str, Any], name: str) -> object:
    """A claim by its name, else by a path with dots: realm_access.roles."""
    if name in said:
        return said[name]
    found: object = said
    for part in name.split("."):
        if not isinstance(found, Mapping):
            return None
        found = found.get(part)
    return found


def _text(value: object) -> str:
    """A text that can be shown and stored, else "": no line breaks, no NUL, no half characters."""
    return value.strip() if isinstance(value, str) and value.isprintable() else ""


def _texts(value: object) -> Iterable[str]:
    values = value if isinstance(value, list) else [value]
    return [one for one in values if isinstance(one, str) and one != EVERYBODY]
