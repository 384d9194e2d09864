"""The outbox of messages, the rules that say who gets them, and the channels they go through."""

from __future__ import annotations

from django.db import models

_STATUSES = ["pending", "sent", "folded", "withdrawn", "failed"]


class Notification(models.Model):
    """One message to one recipient: planned with its cause, sent later.

    recipient: a mail address, or "channel:ID". status: pending, sent, folded, withdrawn, failed.
    claimed_until_ns: a worker is on it until then.
    tries: claims so far. first_tried_at_ns: the first of them, the Date of the mail. urgent: it
    says that a person must look now. subject: set when sent, repeated by the closing message.
    sent_at_ns: of a folded one, when the mail that says it too was sent. latency_ms: from planning
    to acceptance by the mail server. Digests are about no run: run_id and incident_id are 0.
    """

    pk = models.CompositePrimaryKey("run_id", "incident_id", "recipient", "kind", "seq")
    run_id = models.BigIntegerField()
    incident_id = models.BigIntegerField()
    recipient = models.CharField(max_length=254)
    kind = models.CharField(max_length=20)
    seq = models.IntegerField()
    status = models.CharField(max_length=20)
    due_at_ns = models.BigIntegerField()
    planned_at_ns = models.BigIntegerField()
    claimed_until_ns = models.BigIntegerField(default=0)
    tries = models.IntegerField(default=0)
    first_tried_at_ns = models.BigIntegerField(null=True)
    urgent = models.BooleanField(db_default=True)
    sent_at_ns = models.BigIntegerField(null=True)
    latency_ms = models.BigIntegerField(null=True)
    subject = models.CharField(max_length=200, blank=True)
    error = models.TextField(blank=True)

    class Meta:
        indexes = [
            models.Index(
                fields=["due_at_ns"],
                condition=models.Q(status="pending"),
                name="ix_notification_due",
            ),
            models.Index(fields=["-planned_at_ns"], name="ix_notification_newest"),
            models.Index(
                fields=["recipient", "-sent_at_ns"],
                condition=models.Q(sent_at_ns__isnull=False),
                name="ix_notification_told",
            ),
        ]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(status__in=_STATUSES),
                name="notification_status_is_known",
            ),
            models.CheckConstraint(
                condition=~models.Q(status="sent") | models.Q(sent_at_ns__isnull=False),
                name="notification_sent_has_a_time",
            ),
        ]


class Channel(models.Model):
    """A place messages go to. project "": any.

    sealed: its address and secret, encrypted (`apps.alerts.sealing`). shown: what a page may say
    of them. tested_*: the last test message; test_error "" when it arrived.
    """

    name = models.CharField(max_length=100, unique=True)
    kind = models.CharField(max_length=20)
    project = models.CharField(max_length=200, blank=True)
    shown = models.CharField(max_length=300)
    sealed = models.TextField()
    enabled = models.BooleanField(default=True)
    version = models.IntegerField(default=1)
    changed_at_ns = models.BigIntegerField()
    changed_by = models.CharField(max_length=200)
    tested_at_ns = models.BigIntegerField(null=True)
    test_error = models.TextField(blank=True)


class Rule(models.Model):
    """Incidents that fit all conditions go to `channels` (ids); see `domain.routing.Rule`."""

    name = models.CharField(max_length=100, unique=True)
    severities = models.JSONField(default=list)
    kinds = models.JSONField(default=list)
    project = models.CharField(max_length=200, blank=True)
    tag = models.CharField(max_length=200, blank=True)
    owner = models.CharField(max_length=200, blank=True)
    channels = models.JSONField(default=list)
    everybody = models.BooleanField(default=False)
    enabled = models.BooleanField(default=True)
    version = models.IntegerField(default=1)
    changed_at_ns = models.BigIntegerField()
    changed_by = models.CharField(max_length=200)


class LeftRule(models.Model):
    """Somebody unsubscribed from a rule; rule_id 0 is the rule that nobody wrote."""

    pk = models.CompositePrimaryKey("rule_id", "recipient")
    rule_id = models.BigIntegerField()
    recipient = models.CharField(max_length=254)
    left_at_ns = models.BigIntegerField()


class Habits(models.Model):
    """How one person wants mails. zone: IANA name, "" for UTC. digest: the daily summary."""

    recipient = models.CharField(max_length=254, primary_key=True)
    zone = models.CharField(max_length=64, blank=True)
    digest = models.BooleanField(default=True)


class Pulse(models.Model):
    """The last sign of life of the alert worker; one row.

    told_at_ns: when people were told of the present silence, None if they were not or there is
    none. claimed_until_ns: a process is telling them until then.
    """

    name = models.CharField(max_length=40, primary_key=True)
    at_ns = models.BigIntegerField()
    told_at_ns = models.BigIntegerField(null=True)
    claimed_until_ns = models.BigIntegerField(default=0)
