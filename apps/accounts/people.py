"""Who may sign in, and as what. Everything here needs the scope admin and is audited."""

from __future__ import annotations

from collections.abc import Callable, Collection

from django.contrib.auth.models import User
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.utils import timezone

from apps.accounts import ended, identity_store
from apps.accounts import people_store as store
from apps.accounts.records import Actor, Role
from apps.accounts.services import audit, link_for, require, revoke_token
from apps.accounts.store import tokens_made_by
from apps.core.errors import Conflict, NotFound, Refused

MAX_NAME, MAX_EMAIL = 150, 254


def add(name: str, email: str, role: Role, *, actor: Actor) -> tuple[int, str]:
    """A new person; their id, and the secret of the one-time link that signs them in."""
    require(actor, "admin")
    name = User.normalize_username(name)
    _check_name(name)
    _check_email(email)
    with transaction.atomic():
        store.one_at_a_time()
        if store.is_taken(name):
            raise Conflict("somebody has this name already", where="name", hint="names differ")
        user = store.add(name, email)
        store.set_role(user, role)
        audit(actor, "person.added", f"user {name}", after={"role": role.value})
        return user.pk, link_for(user, actor=actor)


def change(person_id: int, role: Role, email: str, *, actor: Actor, reason: str = "") -> None:
    """Gives a person another role or mail address; what is as it was leaves no trace."""
    require(actor, "admin")
    _check_email(email)
    with transaction.atomic():
        admins = store.hold_admins()
        user = _known(person_id)
        was = store.role_of(user)
        if was is Role.ADMIN and role is not Role.ADMIN:
            _keep_one_admin(user, admins)
        before, after = {}, {}
        if role is not was:
            store.set_role(user, role)
            before, after = {"role": was.value}, {"role": role.value}
        if email != user.email:
            store.set_email(user, email)
            after["mail"] = "changed"
        if after:
            who = f"user {user.get_username()}"
            audit(actor, "person.changed", who, before=before, after=after, reason=reason)


def set_active(
    person_id: int,
    active: bool,
    *,
    actor: Actor,
    reason: str = "",
    revoked: Collection[int] = (),
) -> None:
    """Shuts a person out at once, with all sessions and links, or lets them in again.

    revoked: which of the tokens that they made end too. The others go on: a program that sends data
    in the night does not end because of who set it up.
    """
    require(actor, "admin")
    with transaction.atomic():
        admins = store.hold_admins()
        user = _known(person_id)
        if user.is_active is active:
            return
        if not active and store.role_of(user) is Role.ADMIN:
            _keep_one_admin(user, admins)
        store.set_active(user, active)
        store.drop_links(user)
        action = "person.let_in" if active else "person.shut_out"
        audit(actor, action, f"user {user.get_username()}", reason=reason)
        if not active:
            _revoke(user, revoked, actor, reason)
    if not active:
        ended.all_of(person_id)


def revoke_tokens(
    person_id: int, token_ids: Collection[int], *, actor: Actor, reason: str = ""
) -> int:
    """Ends tokens that a person made; how many worked until now. Those of others are left."""
    require(actor, "admin")
    with transaction.atomic():
        return _revoke(_known(person_id), token_ids, actor, reason)


def _revoke(user: User, token_ids: Collection[int], actor: Actor, reason: str) -> int:
    own = {one.id for one in tokens_made_by(user.get_username(), timezone.now())}
    wanted = sorted(own.intersection(token_ids))
    return sum(revoke_token(token_id, actor=actor, reason=reason) for token_id in wanted)


def new_link(person_id: int, *, actor: Actor) -> str:
    """The secret of a fresh one-time link of a person; earlier ones end."""
    require(actor, "admin")
    with transaction.atomic():
        user = _known(person_id)
        if not user.is_active:
            raise Refused("this person is shut out", hint="let them in first")
        store.drop_links(user)
        return link_for(user, actor=actor)


def unlink(person_id: int, *, actor: Actor, reason: str = "") -> None:
    """Whoever signs in as this person through the provider does not any more, until their mail
    address is matched again."""
    require(actor, "admin")
    with transaction.atomic():
        user = _known(person_id)
        if identity_store.unlink(user):
            audit(actor, "identity.unlinked", f"user {user.get_username()}", reason=reason)


def is_name(name: str) -> bool:
    """Whether somebody may be called so."""
    return _passes(_check_name, name)


def is_email(email: str) -> bool:
    """Whether this may be somebody's mail address."""
    return _passes(_check_email, email)


def _passes(check: Callable[[str], None], value: str) -> bool:
    try:
        check(value)
    except Refused:
        return False
    return True


def _known(person_id: int) -> User:
    try:
        return store.user(person_id)
    except User.DoesNotExist:
        raise NotFound("no such person") from None


def _keep_one_admin(user: User, admins: int) -> None:
    """admins: how many may sign in now."""
    if user.is_active and admins <= 1:
        hint = "make somebody else an administrator first"
        raise Conflict("this is the last administrator", where="role", hint=hint)


def _check_name(name: str) -> None:
    try:
        UnicodeUsernameValidator()(name)
    except ValidationError:
        hint = "letters, digits and @ . + - _"
        raise Refused("this is no name", where="name", hint=hint) from None
    if len(name) > MAX_NAME:
        raise Refused("this name is too long", where="name", hint=f"at most {MAX_NAME} characters")


def _check_email(email: str) -> None:
    if not email:
        return
    if len(email) > MAX_EMAIL:
        hint = f"at most {MAX_EMAIL} characters"
        raise Refused("this mail address is too long", where="mail", hint=hint)
    try:
        validate_email(email)
    except ValidationError:
        raise Refused(
            "this is no mail address", where="mail", hint="such as ada@example.org"
        ) from None
