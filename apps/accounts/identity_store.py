"""Every statement about identities: who somebody of a provider is here."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef

from apps.accounts.domain.arrival import Known
from apps.accounts.models import Identity


def linked(issuer: str, subject: str) -> Known | None:
    """The person with this identity. -- uses uq_identity_subject"""
    user = User.objects.filter(identity__issuer=issuer, identity__subject=subject).first()
    return Known(user.pk, user.is_active, True, user.email) if user else None


def of_mail(mail: str, issuer: str) -> list[Known]:
    """People with this mail address, in any case."""
    own = Identity.objects.filter(user_id=OuterRef("pk"), issuer=issuer)
    same = User.objects.filter(email__iexact=mail).annotate(linked=Exists(own)).order_by("pk")
    return [Known(*found) for found in same.values_list("pk", "is_active", "linked", "email")]


def link(user: User, issuer: str, subject: str) -> bool:
    """Gives a person an identity; False: they have it."""
    return Identity.objects.get_or_create(user=user, issuer=issuer, subject=subject)[1]


def unlink(user: User) -> int:
    """Takes every identity of a person; how many."""
    return Identity.objects.filter(user=user).delete()[0]
