"""Checkpoints, the content of their metadata files, and announcements that contradict them."""

from __future__ import annotations

from django.db import models

from apps.checkpoints.domain.codes import Level
from apps.checkpoints.domain.lifecycle import State
from apps.checkpoints.domain.places import Tier
from apps.checkpoints.retention_models import CheckpointDeletion as CheckpointDeletion
from apps.checkpoints.retention_models import RetentionRule as RetentionRule
from apps.core.sql import NextVal


class Checkpoint(models.Model):
    """The state of a run at a step, as its writer announced it first.

    path: where it is to be restored from; all places are rows of CheckpointCopy. files: packed
    inventory (domain/inventory.py). state, level, framework, findings, complete and what follows
    them: written by `store.save_check` only. stated_bytes: size of all files together. source: who
    spoke of it first (http, log, wandb, scan). seen_at_ns: when a storage was last looked at,
    bytes_read of bytes_total; unchecked: what was not looked at, in words. content_digest: of
    everything that was read, "" until then.
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
    source = models.CharField(max_length=8, default="http", db_default="http")
    state = models.CharField(max_length=12, default="committing", db_default="committing")
    state_at_ns = models.BigIntegerField(default=0, db_default=0)
    why = models.TextField(blank=True, default="", db_default="")
    seen_at_ns = models.BigIntegerField(null=True)
    bytes_read = models.BigIntegerField(null=True)
    bytes_total = models.BigIntegerField(null=True)
    unchecked = models.JSONField(default=list, db_default=models.Value([], models.JSONField()))
    content_digest = models.CharField(max_length=64, blank=True, default="", db_default="")

    class Meta:
        indexes = [
            # Few at any time: saves that are under way.
            models.Index(
                fields=["run_id", "attempt", "step"],
                name="ix_checkpoint_open",
                condition=models.Q(state__in=["requested", "committing"]),
            )
        ]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(level__in=[level.value for level in Level]),
                name="checkpoint_level_is_known",
            ),
            models.CheckConstraint(
                condition=models.Q(state__in=[state.value for state in State]),
                name="checkpoint_state_is_known",
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


class CheckpointCopy(models.Model):
    """One place where a checkpoint lies or lay. place_key: of the address (domain/places.py).

    level, findings: of this place. seen_at_ns: when a storage was last looked at; null: only said.
    """

    pk = models.CompositePrimaryKey("run_id", "attempt", "step", "place_key")
    run_id = models.BigIntegerField()
    attempt = models.IntegerField()
    step = models.BigIntegerField()
    place_key = models.CharField(max_length=64)
    uri = models.TextField()
    tier = models.CharField(max_length=8)
    state = models.CharField(max_length=12)
    level = models.CharField(max_length=20)
    findings = models.JSONField(default=list)
    stated_bytes = models.BigIntegerField(null=True)
    seen_at_ns = models.BigIntegerField(null=True)

    class Meta:
        indexes = [models.Index(fields=["place_key"], name="ix_checkpoint_copy_place")]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(tier__in=[tier.value for tier in Tier]),
                name="checkpoint_copy_tier_is_known",
            ),
            models.CheckConstraint(
                condition=models.Q(state__in=[state.value for state in State]),
                name="checkpoint_copy_state_is_known",
            ),
        ]


class CheckpointMark(models.Model):
    """What a person or a job said of a checkpoint: a pin, a tag, a lease.

    name: of the tag, or who holds the lease; "" of a pin. until_ns: of a lease only.
    """

    pk = models.CompositePrimaryKey("run_id", "attempt", "step", "kind", "name")
    run_id = models.BigIntegerField()
    attempt = models.IntegerField()
    step = models.BigIntegerField()
    kind = models.CharField(max_length=8)
    name = models.CharField(max_length=100, blank=True)
    reason = models.TextField(blank=True)
    actor = models.CharField(max_length=200)
    made_at_ns = models.BigIntegerField()
    until_ns = models.BigIntegerField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(kind__in=["pin", "tag", "lease"]),
                name="checkpoint_mark_kind_is_known",
            ),
            models.CheckConstraint(
                condition=models.Q(kind="lease", until_ns__isnull=False)
                | (~models.Q(kind="lease") & models.Q(until_ns__isnull=True)),
                name="only_a_lease_ends_by_itself",
            ),
        ]


class StorageRoot(models.Model):
    """A folder or bucket prefix that is looked at for checkpoints.

    Of one run (run_id), or of the runs of a project by `pattern` (storage/pattern.py). claimed_*:
    who looks at it now. last, rooms: what the last look found, and how full it was at the last
    looks (root_records.py).
    """

    uri = models.CharField(max_length=1_000)
    run_id = models.BigIntegerField(null=True)
    project = models.CharField(max_length=200, blank=True)
    pattern = models.CharField(max_length=200, blank=True)
    every_s = models.IntegerField()
    enabled = models.BooleanField(default=True)
    version = models.IntegerField(default=1)
    changed_by = models.CharField(max_length=200)
    changed_at_ns = models.BigIntegerField()
    next_at_ns = models.BigIntegerField(default=0)
    claimed_until_ns = models.BigIntegerField(default=0)
    last = models.JSONField(null=True)
    rooms = models.JSONField(default=list)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["uri", "run_id", "project", "pattern"],
                nulls_distinct=False,
                name="storage_root_once",
            ),
            models.CheckConstraint(
                condition=models.Q(run_id__isnull=False, pattern="")
                | (models.Q(run_id__isnull=True) & ~models.Q(pattern="")),
                name="storage_root_has_a_run_or_a_pattern",
            ),
        ]


class ScannedStep(models.Model):
    """How a checkpoint looked when a root was scanned: the same again needs no reading.

    place_key: of its address. path: below the root. broken: with a fatal finding. numbered: its
    name tells a step; else it is not registered.
    """

    pk = models.CompositePrimaryKey("run_id", "root_id", "place_key")
    run_id = models.BigIntegerField()
    root_id = models.BigIntegerField()
    place_key = models.CharField(max_length=64)
    path = models.TextField()
    fingerprint = models.CharField(max_length=64)
    broken = models.BooleanField(default=False, db_default=False)
    numbered = models.BooleanField(default=True, db_default=True)

    class Meta:
        indexes = [models.Index(fields=["root_id"], name="ix_scanned_step_root")]


class ContentHash(models.Model):
    """The reading of all bytes of a checkpoint in one place, asked for and done.

    files: packed (hashes_store.py): what was read of each file so far. before: the same of an
    earlier reading, which this one is compared with. findings: of the last reading that ended, for
    the sizes of inventory_digest. heard_at_ns: a reading that is silent for long has died.
    """

    pk = models.CompositePrimaryKey("run_id", "attempt", "step", "place_key")
    run_id = models.BigIntegerField()
    attempt = models.IntegerField()
    step = models.BigIntegerField()
    place_key = models.CharField(max_length=64)
    uri = models.TextField()
    state = models.CharField(max_length=10)
    asked_by = models.CharField(max_length=200)
    asked_at_ns = models.BigIntegerField()
    started_at_ns = models.BigIntegerField(null=True)
    ended_at_ns = models.BigIntegerField(null=True)
    heard_at_ns = models.BigIntegerField(default=0)
    bytes_done = models.BigIntegerField(default=0)
    bytes_total = models.BigIntegerField()
    files = models.BinaryField(default=bytes)
    before = models.BinaryField(default=bytes)
    digest = models.CharField(max_length=64, blank=True)
    inventory_digest = models.CharField(max_length=64, blank=True, default="")
    findings = models.JSONField(default=list)
    message = models.TextField(blank=True)

    class Meta:
        indexes = [
            models.Index(
                fields=["asked_at_ns"],
                name="ix_content_hash_open",
                condition=models.Q(state__in=["waiting", "reading"]),
            )
        ]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(state__in=["waiting", "reading", "done", "failed", "cancelled"]),
                name="content_hash_state_is_known",
            )
        ]


class EvaluationSuite(models.Model):
    """A command that evaluates checkpoints of a project. argv: its words, with placeholders.
    since_ns: checkpoints saved from then on are evaluated by themselves."""

    project = models.CharField(max_length=200, blank=True)
    name = models.CharField(max_length=100)
    argv = models.JSONField()
    timeout_s = models.IntegerField()
    tries = models.IntegerField()
    every_steps = models.BigIntegerField(null=True)
    enabled = models.BooleanField()
    since_ns = models.BigIntegerField()
    version = models.IntegerField(default=1)
    changed_by = models.CharField(max_length=200)
    changed_at_ns = models.BigIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "name"], name="one_suite_a_name"),
        ]


class EvaluationJob(models.Model):
    """A checkpoint that is to be evaluated, and how far that has come.

    path, digest: of the checkpoint when somebody asked. due_ns: not before. lease_*: who works on
    it, until when; holder is new for every try. log: zstd, the beginning and the end of what the
    command printed; log_bytes: all of it. state and what follows are written by `save` of
    jobs_store only.
    """

    pk = models.CompositePrimaryKey("run_id", "id")
    run_id = models.BigIntegerField()
    id = models.BigIntegerField(db_default=NextVal("evaluation_job_id"))
    attempt = models.IntegerField()
    step = models.BigIntegerField()
    suite_id = models.BigIntegerField()
    suite = models.CharField(max_length=100)
    path = models.TextField()
    digest = models.CharField(max_length=64)
    asked_by = models.CharField(max_length=200)
    asked_at_ns = models.BigIntegerField()

    state = models.CharField(max_length=20)
    due_ns = models.BigIntegerField()
    tries = models.IntegerField(default=0)
    holder = models.CharField(max_length=64, blank=True)
    evaluator = models.CharField(max_length=200, blank=True)
    lease_until_ns = models.BigIntegerField(null=True)
    cancelled_by = models.CharField(max_length=200, blank=True)
    started_at_ns = models.BigIntegerField(null=True)
    ended_at_ns = models.BigIntegerField(null=True)
    exit_code = models.IntegerField(null=True)
    reason = models.TextField(blank=True)
    log = models.BinaryField(null=True)
    log_bytes = models.BigIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["run_id", "attempt", "step", "suite_id"],
                condition=models.Q(state__in=["waiting", "running"]),
                name="one_active_evaluation",
            ),
            models.CheckConstraint(
                condition=models.Q(state__in=["waiting", "running", "done", "failed", "cancelled"]),
                name="evaluation_state_is_known",
            ),
        ]
        indexes = [
            models.Index(
                fields=["due_ns", "id"],
                condition=models.Q(state="waiting"),
                name="ix_evaluation_waiting",
            ),
            models.Index(
                fields=["lease_until_ns"],
                condition=models.Q(state="running"),
                name="ix_evaluation_running",
            ),
        ]
