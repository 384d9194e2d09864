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

    What acts change (state, owner, silence, ...) is written by `store.save_standing` only, the rest
    by `store.save_summary`. acts: how many there were. urgency: what a list is sorted by, least
    first; the database computes it.
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
    owner = models.CharField(max_length=200, blank=True, db_default="")
    mitigated_at_ns = models.BigIntegerField(null=True)
    silenced_until_ns = models.BigIntegerField(null=True)
    silenced_by = models.CharField(max_length=200, blank=True, db_default="")
    silence_reason = models.TextField(blank=True, db_default="")
    relapsed_step = models.BigIntegerField(null=True)
    relapsed_attempt = models.IntegerField(null=True)
    relapsed_at_ns = models.BigIntegerField(null=True)
    acts = models.IntegerField(db_default=0)
    urgency = models.GeneratedField(
        expression=models.Case(
            models.When(state="open", page=True, then=models.Value(0)),
            models.When(state="open", then=models.Value(1)),
            models.When(state="acknowledged", page=True, then=models.Value(2)),
            models.When(state="acknowledged", then=models.Value(3)),
            models.When(state="mitigated", then=models.Value(4)),
            default=models.Value(5),
        ),
        output_field=models.SmallIntegerField(),
        db_persist=True,
    )

    class Meta:
        indexes = [
            models.Index(fields=["id"], name="ix_incident_id"),
            models.Index(fields=["state", "-id"], name="ix_incident_state"),
            models.Index(fields=["urgency", "-id"], name="ix_incident_urgency"),
            models.Index(fields=["run_id", "attempt", "state"], name="ix_incident_attempt"),
            models.Index(fields=["-id"], condition=models.Q(page=True), name="ix_incident_page"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(state__in=["open", "acknowledged", "mitigated", "resolved"]),
                name="incident_state_is_known",
            ),
            models.CheckConstraint(
                condition=models.Q(state="resolved", resolved_at_ns__isnull=False)
                | (~models.Q(state="resolved") & models.Q(resolved_at_ns__isnull=True)),
                name="incident_resolved_has_a_time",
            ),
            models.CheckConstraint(
                condition=~models.Q(state="mitigated") | models.Q(mitigated_at_ns__isnull=False),
                name="incident_mitigated_has_a_time",
            ),
        ]


class IncidentMovers(models.Model):
    """The series that moved around the onset, as `domain.movers.Movers`. A page reads it, lists do
    not: it may hold some 50 KB."""

    pk = models.CompositePrimaryKey("run_id", "incident_id")
    run_id = models.BigIntegerField()
    incident_id = models.BigIntegerField()
    found = models.JSONField()


class IncidentEvent(models.Model):
    """One line of an incident's history. key: natural, so that a replay adds nothing."""

    pk = models.CompositePrimaryKey("run_id", "incident_id", "key")
    run_id = models.BigIntegerField()
    incident_id = models.BigIntegerField()
    key = models.CharField(max_length=400)
    at_ns = models.BigIntegerField()
    text = models.TextField()
    actor = models.CharField(max_length=200, blank=True)


class KeptClues(models.Model):
    """What the triage card of an incident that is over was made of (`domain.clues.Clues`)."""

    pk = models.CompositePrimaryKey("run_id", "incident_id")
    run_id = models.BigIntegerField()
    incident_id = models.BigIntegerField()
    clues = models.JSONField()


class HostBlameRow(models.Model):
    """A host that an incident names (`domain.blaming.HostBlame`), written by `store.blames` only.

    at_ns: when the fault began, not in the future when it was written. noted_ns: when the incident
    named the host first. attempt: of the incident.
    """

    pk = models.CompositePrimaryKey("run_id", "incident_id", "node")
    run_id = models.BigIntegerField()
    incident_id = models.BigIntegerField()
    node = models.CharField(max_length=255)
    attempt = models.IntegerField()
    rank = models.IntegerField(null=True)
    fault_class = models.CharField(max_length=100)
    confidence = models.FloatField()
    weight = models.FloatField()
    confirmed_by = models.CharField(max_length=300, blank=True)
    at_ns = models.BigIntegerField()
    noted_ns = models.BigIntegerField()

    class Meta:
        indexes = [
            models.Index(fields=["node", "-at_ns"], name="ix_blame_node"),
            models.Index(
                fields=["at_ns"], condition=models.Q(confirmed_by=""), name="ix_blame_unconfirmed"
            ),
        ]
