"""Findings, the incidents they form, and what happened to each incident."""

from __future__ import annotations

from django.db import models

from apps.core.sql import NextVal


class Finding(models.Model):
    """One detector's statement. incident_id: None while it belongs to no incident."""

    pk = models.CompositePrimaryKey("run_id", "key")
    run_id = models.BigIntegerField()
    key = models.CharField(max_length=300)
    attempt = models.IntegerField()
    incident_id = models.BigIntegerField(null=True)
    detector = models.CharField(max_length=100)
    kind = models.CharField(max_length=50)
    severity = models.CharField(max_length=10)
    onset_step = models.BigIntegerField(null=True)
    onset_time_ns = models.BigIntegerField()
    seen_step = models.BigIntegerField(null=True)
    seen_time_ns = models.BigIntegerField()
    closed_step = models.BigIntegerField(null=True)
    closed_time_ns = models.BigIntegerField(null=True)
    title = models.TextField()
    series = models.CharField(max_length=500, null=True)
    rank = models.IntegerField(null=True)
    node = models.CharField(max_length=255, null=True)
    evidence = models.JSONField(default=list)
    suspects = models.JSONField(default=list)
    facts = models.JSONField(default=dict)

    class Meta:
        indexes = [
            models.Index(fields=["run_id", "attempt", "onset_time_ns"], name="ix_finding_onset"),
            models.Index(fields=["run_id", "incident_id"], name="ix_finding_incident"),
        ]


class Incident(models.Model):
    """Findings that belong together. look_again_step: the earliest signal is sought once more
    when the attempt has reached this step.

    State fields are written by `store.save_state` only, the others by `store.save_summary`.
    """

    pk = models.CompositePrimaryKey("run_id", "id")
    run_id = models.BigIntegerField()
    id = models.BigIntegerField(db_default=NextVal("incident_id"))
    attempt = models.IntegerField()
    kind = models.CharField(max_length=50)
    severity = models.CharField(max_length=10)
    page = models.BooleanField()
    state = models.CharField(max_length=20)
    onset_step = models.BigIntegerField(null=True)
    onset_time_ns = models.BigIntegerField()
    title = models.TextField()
    cause_hint = models.TextField()
    series = models.CharField(max_length=500, null=True)
    suspects = models.JSONField(default=list)
    hypotheses = models.JSONField(default=list)
    earliest = models.JSONField(null=True)
    look_again_step = models.BigIntegerField(null=True)
    settled = models.BooleanField(default=True)
    finding_count = models.IntegerField()
    opened_at_ns = models.BigIntegerField()
    acknowledged_at_ns = models.BigIntegerField(null=True)
    acknowledged_by = models.CharField(max_length=200, blank=True)
    resolved_at_ns = models.BigIntegerField(null=True)
    resolution = models.CharField(max_length=20, blank=True)
    reopened = models.IntegerField(default=0)

    class Meta:
        indexes = [
            models.Index(fields=["id"], name="ix_incident_id"),
            models.Index(fields=["state", "-id"], name="ix_incident_state"),
            models.Index(fields=["run_id", "attempt", "state"], name="ix_incident_attempt"),
            models.Index(fields=["-id"], condition=models.Q(page=True), name="ix_incident_page"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(state__in=["open", "acknowledged", "resolved"]),
                name="incident_state_is_known",
            ),
            models.CheckConstraint(
                condition=models.Q(state="resolved", resolved_at_ns__isnull=False)
                | (~models.Q(state="resolved") & models.Q(resolved_at_ns__isnull=True)),
                name="incident_resolved_has_a_time",
            ),
        ]


class IncidentEvent(models.Model):
    """One line of an incident's history. key: natural, so that a replay adds nothing."""

    pk = models.CompositePrimaryKey("run_id", "incident_id", "key")
    run_id = models.BigIntegerField()
    incident_id = models.BigIntegerField()
    key = models.CharField(max_length=400)
    at_ns = models.BigIntegerField()
    text = models.TextField()
    actor = models.CharField(max_length=200, blank=True)
