"""API tokens, one-time login links, identities, the audit trail. People are Django users."""

from __future__ import annotations

from django.conf import settings
from django.contrib.postgres.indexes import BrinIndex
from django.db import models

from apps.core.sql import NextVal


class ApiToken(models.Model):
    """A program's key. Only the SHA-256 of the secret is kept. bytes_s, requests_s: as in Actor.
    made_by: an actor, "" of before that was kept. used_at: written at most every few minutes."""

    name = models.CharField(max_length=200)
    digest = models.CharField(max_length=64, unique=True)
    scopes = models.JSONField(default=list)
    created_at = models.DateTimeField(auto_now_add=True)
    made_by = models.CharField(max_length=221, blank=True)
    used_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)
    bytes_s = models.BigIntegerField(null=True)
    requests_s = models.IntegerField(null=True)


class LoginLink(models.Model):
    """A link that logs one person in, once."""

    digest = models.CharField(max_length=64, unique=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)


class Identity(models.Model):
    """Who somebody of an OpenID Connect provider is here: by issuer and subject, which never change
    there, while names and mail addresses do."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    issuer = models.CharField(max_length=500)
    subject = models.CharField(max_length=255)
    linked_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["issuer", "subject"], name="uq_identity_subject"),
            models.UniqueConstraint(fields=["user", "issuer"], name="uq_identity_person"),
        ]


class AuditEntry(models.Model):
    """One state change: who, what, why. Rows are added, never changed. run_id 0: no run.
    address: as in Actor. ix_audit_object, over the letters of `object`, is made by a migration
    where Postgres has pg_trgm."""

    pk = models.CompositePrimaryKey("run_id", "id")
    run_id = models.BigIntegerField(default=0)
    id = models.BigIntegerField(db_default=NextVal("accounts_audit_id"))
    at_ns = models.BigIntegerField()
    actor_kind = models.CharField(max_length=20)
    actor = models.CharField(max_length=200)
    action = models.CharField(max_length=100)
    object = models.CharField(max_length=300)
    before = models.JSONField(default=dict)
    after = models.JSONField(default=dict)
    reason = models.TextField(blank=True)
    request_id = models.CharField(max_length=128, blank=True)
    address = models.CharField(max_length=64, blank=True, db_default="")

    class Meta:
        indexes = [
            models.Index(fields=["-id"], name="ix_audit_newest"),
            models.Index(fields=["actor", "-id"], name="ix_audit_actor"),
            BrinIndex(fields=["at_ns"], name="ix_audit_at"),
        ]


class AuditSeal(models.Model):
    """A digest over the entries behind the last_id of the seal before, up to its own, and over that
    seal (`domain/chain.py`). broken: a later check found other entries."""

    number = models.BigIntegerField(primary_key=True)
    last_id = models.BigIntegerField()
    rows = models.IntegerField()
    digest = models.CharField(max_length=64)
    sealed_at_ns = models.BigIntegerField()
    checked_at_ns = models.BigIntegerField()
    broken = models.BooleanField(default=False)

    class Meta:
        indexes = [
            models.Index(fields=["checked_at_ns", "number"], name="ix_seal_checked"),
            models.Index(fields=["number"], condition=models.Q(broken=True), name="ix_seal_broken"),
        ]
