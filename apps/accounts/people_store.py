"""Every statement about people and their roles. A role is what Django has: administrators are
superusers, operators are staff or of the group `operators`, everybody else is a viewer."""

from __future__ import annotations

from django.contrib.auth.models import Group, User
from django.db.models import Exists, OuterRef, QuerySet

from apps.accounts.models import Identity, LoginLink
from apps.accounts.records import Person, Role
from apps.core import sql
from apps.core.times import ns_of

OPERATORS = "operators"
MAX_PEOPLE = 1_000


def role_of(user: User) -> Role:
    """The role of a person; at most one statement."""
    if user.is_superuser:
        return Role.ADMIN
    operates = user.is_staff or user.groups.filter(name=OPERATORS).exists()
    return Role.OPERATOR if operates else Role.VIEWER


def people() -> list[Person]:
    """Everybody, those who may sign in first, by name."""
    return [
        _person(user) for user in _with_groups().order_by("-is_active", "username")[:MAX_PEOPLE]
    ]


def person(user_id: int) -> Person | None:
    """One of them."""
    user = _with_groups().filter(pk=user_id).first()
    return _person(user) if user else None


def user(user_id: int) -> User:
    """The row of a person, locked until the transaction ends. Raises User.DoesNotExist."""
    return User.objects.select_for_update().get(pk=user_id)


def one_at_a_time() -> None:
    """Holds off everybody else who adds or links people until the transaction ends: names that
    differ in case are one name here, and two to the table. Before any row is held."""
    sql.one_at_a_time("accounts.people")


def is_taken(name: str) -> bool:
    """Whether somebody has this name, in any case."""
    return User.objects.filter(username__iexact=name).exists()


def add(name: str, email: str) -> User:
    """A new viewer without a password."""
    return User.objects.create_user(name, email)


def set_role(user: User, role: Role) -> None:
    """Gives a person this role and no other."""
    user.is_superuser, user.is_staff = role is Role.ADMIN, False
    user.save(update_fields=["is_superuser", "is_staff"])
    if role is Role.OPERATOR:
        user.groups.add(Group.objects.get_or_create(name=OPERATORS)[0])
    else:
        user.groups.remove(*user.groups.filter(name=OPERATORS))


def set_email(user: User, email: str) -> None:
    """Where mails to this person go."""
    user.email = email
    user.save(update_fields=["email"])


def set_active(user: User, active: bool) -> None:
    """Whether a person may sign in; the sessions of one who may not count no more."""
    user.is_active = active
    user.save(update_fields=["is_active"])


def hold_admins() -> int:
    """How many administrators may sign in; none of them changes until the transaction ends."""
    admins = User.objects.filter(is_superuser=True, is_active=True).order_by("pk")
    return len(admins.select_for_update().values_list("pk", flat=True))


def drop_links(user: User) -> int:
    """Ends the login links of a person that were not used; how many."""
    return LoginLink.objects.filter(user=user, used_at=None).delete()[0]


def _with_groups() -> QuerySet[User]:
    operators = User.groups.through.objects.filter(user_id=OuterRef("pk"), group__name=OPERATORS)
    identities = Identity.objects.filter(user_id=OuterRef("pk"))
    return User.objects.annotate(operates=Exists(operators), has_identity=Exists(identities))


def _person(user: User) -> Person:
    operates = user.is_staff or getattr(user, "operates", False)
    role = Role.ADMIN if user.is_superuser else Role.OPERATOR if operates else Role.VIEWER
    return Person(
        id=user.pk,
        name=user.get_username(),
        email=user.email,
        role=role,
        active=user.is_active,
        password=user.has_usable_password(),
        linked=getattr(user, "has_identity", False),
        made_ns=ns_of(user.date_joined),
        seen_ns=ns_of(user.last_login),
    )
