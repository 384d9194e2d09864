"""The outbox of messages."""

from __future__ import annotations

from django.db import models


class Notification(models.Model):
    """One message to one recipient: planned with its cause, sent later.

    status: pending, sent, folded, withdrawn. claimed_until_ns: a worker is on it until then.
    tries: claims so far. subject: set when sent, repeated by the closing message.
    latency_ms: from planning to acceptance by the mail server.
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
        ]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(status__in=["pending", "sent", "folded", "withdrawn"]),
                name="notification_status_is_known",
            ),
            models.CheckConstraint(
                condition=~models.Q(status="sent") | models.Q(sent_at_ns__isnull=False),
                name="notification_sent_has_a_time",
            ),
        ]
