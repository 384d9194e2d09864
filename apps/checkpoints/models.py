"""Checkpoints, the content of their metadata files, and announcements that contradict them."""

from __future__ import annotations

from django.db import models


class Checkpoint(models.Model):
    """The state of a run at a step, as its writer announced it first.

    files: packed inventory (domain/inventory.py). level, framework, findings, complete: written by
    `store.save_check` only. stated_bytes: size of all files together.
    """

    pk = models.CompositePrimaryKey("run_id", "attempt", "step")
    run_id = models.BigIntegerField()
    attempt = models.IntegerField()
    step = models.BigIntegerField()
    path = models.TextField()
    saved_at_ns = models.BigIntegerField()
    save_s = models.FloatField(null=True)
    files = models.BinaryField()
    file_count = models.IntegerField()
    stated_bytes = models.BigIntegerField()
    inventory_digest = models.CharField(max_length=64)
    framework = models.CharField(max_length=40)
    level = models.CharField(max_length=20)
    findings = models.JSONField(default=list)
    complete = models.BooleanField()
    checked_at_ns = models.BigIntegerField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(level__in=["listed", "committed", "headers_verified"]),
                name="checkpoint_level_is_known",
            ),
            models.CheckConstraint(
                condition=models.Q(step__gte=0), name="checkpoint_step_is_not_negative"
            ),
        ]


class CheckpointMetadata(models.Model):
    """The content of a `.metadata` file, zstd-compressed. checked: it was compared already."""

    pk = models.CompositePrimaryKey("run_id", "attempt", "step")
    run_id = models.BigIntegerField()
    attempt = models.IntegerField()
    step = models.BigIntegerField()
    content = models.BinaryField()
    content_bytes = models.BigIntegerField()
    checked = models.BooleanField(default=False)

    class Meta:
        indexes = [
            models.Index(
                fields=["run_id", "attempt", "step"],
                name="ix_checkpoint_unchecked",
                condition=models.Q(checked=False),
            )
        ]


class CheckpointResave(models.Model):
    """The same step announced again with other files. Kept as evidence, never merged."""

    pk = models.CompositePrimaryKey("run_id", "attempt", "step", "inventory_digest")
    run_id = models.BigIntegerField()
    attempt = models.IntegerField()
    step = models.BigIntegerField()
    inventory_digest = models.CharField(max_length=64)
    path = models.TextField()
    saved_at_ns = models.BigIntegerField()
    save_s = models.FloatField(null=True)
    files = models.BinaryField()


class EvaluationResult(models.Model):
    """What one evaluation said of a checkpoint. Rows are added, never changed but for at_ns: when
    the same was said last.

    digest: of the scores, so that a repeat is no second result. headline: the scores without parts
    of groups (domain/scores.py). source: api, or the tool whose file it was. left_out: numbers of
    that file that could not be taken.
    """

    pk = models.CompositePrimaryKey("run_id", "attempt", "step", "suite", "digest")
    run_id = models.BigIntegerField()
    attempt = models.IntegerField()
    step = models.BigIntegerField()
    suite = models.CharField(max_length=100)
    digest = models.CharField(max_length=64)
    source = models.CharField(max_length=40)
    model = models.TextField(blank=True)
    at_ns = models.BigIntegerField()
    said_by = models.CharField(max_length=200)
    headline = models.JSONField()
    scores = models.JSONField()
    score_count = models.IntegerField()
    left_out = models.IntegerField(default=0)
