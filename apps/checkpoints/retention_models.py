"""Rules of retention, and the deletions they lead to."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from apps.checkpoints.domain.deletion import State


class RetentionRule(models.Model):
    """What is kept of one run, or, with run_id 0, of all runs of a project without a rule.

    rules: domain/retention.py. deletes: whether what no rule keeps is deleted, or only shown.
    """

    pk = models.CompositePrimaryKey("project", "run_id")
    project = models.CharField(max_length=200, blank=True)
    run_id = models.BigIntegerField()
    rules = models.JSONField()
    deletes = models.BooleanField()
    changed_by = models.CharField(max_length=200)
    changed_at_ns = models.BigIntegerField()


class CheckpointDeletion(models.Model):
    """How far the deletion of a checkpoint is (domain/deletion.py). One row, the last decision.

    due_ns: not before. places: the addresses that are deleted, once it has begun. message: what
    the storage said, or who took it back. changed_by: a person, or "lastgood" for the rules.
    """

    pk = models.CompositePrimaryKey("run_id", "attempt", "step")
    run_id = models.BigIntegerField()
    attempt = models.IntegerField()
    step = models.BigIntegerField()
    state = models.CharField(max_length=12)
    planned_at_ns = models.BigIntegerField()
    due_ns = models.BigIntegerField()
    changed_at_ns = models.BigIntegerField()
    changed_by = models.CharField(max_length=200)
    size_bytes = models.BigIntegerField()
    places = models.JSONField(default=list)
    message = models.TextField(blank=True)

    class Meta:
        indexes: ClassVar = [
            models.Index(
                fields=["due_ns"],
                name="ix_checkpoint_deletion_open",
                condition=models.Q(state__in=["waiting", "deleting"]),
            ),
            models.Index(
                fields=["changed_at_ns"],
                name="ix_checkpoint_deletion_done",
                condition=models.Q(state="deleted"),
            ),
        ]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=models.Q(state__in=[state.value for state in State]),
                name="checkpoint_deletion_state_is_known",
            )
        ]
