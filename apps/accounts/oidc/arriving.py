"""Somebody whom the provider has let through becomes a person here, or does not."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction

from apps.accounts import identity_store, people, people_store
from apps.accounts.domain.arrival import Claims, Denial, Denied, Provider, role_of, whom
from apps.accounts.records import SYSTEM, Actor, Role
from apps.accounts.services import audit, note_login, note_refused_login


def arrive(claims: Claims, provider: Provider, address: str) -> User:
    """The person who signs in: linked, made and given their role as the settings say, all in the
    audit trail. Raises Denied, which is there too."""
    try:
        with transaction.atomic():
            return _arrived(claims, provider, address)
    except Denied as denied:
        _note_denied(claims, provider, address, denied.denial)
        raise


def _arrived(claims: Claims, provider: Provider, address: str) -> User:
    people_store.one_at_a_time()
    admins = people_store.hold_admins()
    role = role_of(claims.groups, provider)  # first: nobody else learns which addresses are known
    lastgood, user = SYSTEM.at(address), _known(claims, provider)
    if user is not None and not user.is_active:
        raise Denied(Denial.SHUT_OUT)
    if user is None:
        user = _made(claims, provider, role or Role.VIEWER, lastgood)
    elif role is not None:
        _give(user, role, provider, admins, lastgood)
    if identity_store.link(user, provider.issuer, claims.subject):
        audit(lastgood, "identity.linked", _named(user), after=_whose(claims, provider))
    note_login(user, address, "provider")
    return user


def _known(claims: Claims, provider: Provider) -> User | None:
    """Who it is, locked; None: nobody yet."""
    linked = identity_store.linked(provider.issuer, claims.subject)
    same = identity_store.of_mail(claims.mail, provider.issuer) if claims.mail else []
    found = whom(claims, linked, same)
    return people_store.user(found.id) if found else None


def _made(claims: Claims, provider: Provider, role: Role, lastgood: Actor) -> User:
    if not provider.creates:
        raise Denied(Denial.UNKNOWN)
    names = map(User.normalize_username, claims.names)  # as they are stored
    name = next(filter(people.is_name, names), None)
    if name is None:
        raise Denied(Denial.NO_NAME)
    if people_store.is_taken(name):
        raise Denied(Denial.NAME_TAKEN)
    mails = claims.verified and people.is_email(claims.mail)
    user = people_store.add(name, claims.mail if mails else "")
    people_store.set_role(user, role)
    after = {"role": role.value, "by": provider.name}
    audit(lastgood, "person.added", _named(user), after=after)
    return user


def _give(user: User, role: Role, provider: Provider, admins: int, lastgood: Actor) -> None:
    """The role of the groups, unless nobody could administer afterwards."""
    was = people_store.role_of(user)
    if role is was:
        return
    reason = f"groups of {provider.name}"
    if was is Role.ADMIN and admins <= 1:
        audit(lastgood, "person.kept", _named(user), reason=f"{reason}: the last administrator")
        return
    people_store.set_role(user, role)
    before, after = {"role": was.value}, {"role": role.value}
    audit(lastgood, "person.changed", _named(user), before=before, after=after, reason=reason)


@transaction.atomic
def _note_denied(claims: Claims, provider: Provider, address: str, denial: Denial) -> None:
    """Also takes the role of somebody who is in none of the groups any more: pages that are open
    elsewhere only read from now on."""
    admins = people_store.hold_admins()
    known = identity_store.linked(provider.issuer, claims.subject)
    if known and denial is Denial.NO_GROUP:
        _give(people_store.user(known.id), Role.VIEWER, provider, admins, SYSTEM.at(address))
    note_refused_login(address, denial.value, provider.name, **_whose(claims, provider))


def _named(user: User) -> str:
    return f"user {user.get_username()}"


def _whose(claims: Claims, provider: Provider) -> dict[str, str]:
    """Who it was over there. Not the mail address: everybody reads the audit trail."""
    return {"issuer": provider.issuer, "subject": claims.subject}
