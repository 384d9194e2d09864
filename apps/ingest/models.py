"""What was received: batches (the dedupe key), what could not be read, and counters."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models

from apps.core.sql import NextVal


class Batch(models.Model):
    """A batch that has been written. Its key makes a second delivery a no-op."""

    pk = models.CompositePrimaryKey("run_id", "batch_id")
    run_id = models.BigIntegerField()
    batch_id = models.CharField(max_length=128)
    written_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [models.Index(fields=["written_at"], name="ix_batch_age")]


class Quarantine(models.Model):
    """A body that could not be written, with the reason; it never blocks the rest."""

    pk = models.CompositePrimaryKey("run_id", "id")
    run_id = models.BigIntegerField()
    id = models.BigIntegerField(db_default=NextVal("ingest_quarantine_id"))
    batch_id = models.CharField(max_length=128)
    endpoint = models.CharField(max_length=40)
    encoding = models.CharField(max_length=16)
    token = models.CharField(max_length=200)
    received_ns = models.BigIntegerField()
    quarantined_at = models.DateTimeField(auto_now_add=True)
    reason = models.TextField()
    where = models.CharField(max_length=500, blank=True)
    hint = models.TextField(blank=True)
    body = models.BinaryField()
    body_bytes = models.BigIntegerField()
    attempt = models.IntegerField(null=True)
    writer = models.CharField(max_length=64, blank=True, db_default="")

    class Meta:
        indexes = [models.Index(fields=["-id"], name="ix_quarantine_newest")]
        constraints = [
            models.UniqueConstraint(fields=["run_id", "batch_id"], name="quarantined_once")
        ]


class Counter(models.Model):
    """Things that happened to a run's data: duplicates, late rows, gaps, refused bodies..."""

    pk = models.CompositePrimaryKey("run_id", "name")
    run_id = models.BigIntegerField()
    name = models.CharField(max_length=64)
    value = models.BigIntegerField(default=0)
    last_at = models.DateTimeField(null=True)


class Analysis(models.Model):
    """How far an attempt has been analysed. written counts its written batches, seen those that
    were in when it was last analysed: behind = written - seen. error: why the last try failed."""

    pk = models.CompositePrimaryKey("run_id", "attempt")
    run_id = models.BigIntegerField()
    attempt = models.IntegerField()
    written = models.BigIntegerField(default=0)
    seen = models.BigIntegerField(default=0)
    analysed_ns = models.BigIntegerField(null=True)
    again_at_ns = models.BigIntegerField(null=True)
    error = models.TextField(blank=True, default="")

    class Meta:
        indexes = [
            models.Index(
                models.F("analysed_ns").asc(nulls_first=True),
                condition=~models.Q(written=models.F("seen")) | models.Q(again_at_ns__isnull=False),
                name="ix_analysis_due",
            )
        ]


class WandbProcess(models.Model):
    """A process that writes a W&B run, and its attempt.

    writer: "" if it writes the attempt alone, which is the usual case. said: hash of its first
    UpsertBucket. begun: lines of it have come. heard_ns: when it last said anything. writer_id,
    node, root: who and where it says it is; root holds its folders. exit_code: it said that it is
    through. awaits: its attempt has not ended with it, because other writers were still heard of.
    """

    pk = models.CompositePrimaryKey("run_id", "attempt", "writer")
    run_id = models.BigIntegerField()
    attempt = models.IntegerField()
    writer = models.CharField(max_length=64, blank=True, default="")
    said = models.CharField(max_length=64)
    begun = models.BooleanField(default=False)
    heard_ns = models.BigIntegerField()
    writer_id = models.CharField(max_length=64, blank=True, default="")
    node = models.CharField(max_length=255, blank=True, default="")
    root = models.TextField(blank=True, default="")
    exit_code = models.IntegerField(null=True)
    awaits = models.BooleanField(default=False)

    class Meta:
        indexes = [
            models.Index(fields=["run_id"], condition=models.Q(awaits=True), name="ix_wandb_awaits")
        ]


class WandbCopy(models.Model):
    """One `wandb sync` of a folder of a run.

    attempt, writer: of the process whose lines it repeats, None until it is known. own: nobody but
    copies told of that process. first_lines: file -> number that the copy gives the first line.
    parent, step: where its process goes on from and after which step, if it rewound the run.
    alerts: [body, time] of those that wait for the attempt.
    """

    pk = models.CompositePrimaryKey("run_id", "number")
    run_id = models.BigIntegerField()
    number = models.IntegerField()
    said = models.CharField(max_length=64)
    begun_ns = models.BigIntegerField()
    first_lines = models.JSONField(default=dict)
    parent = models.IntegerField(null=True)
    step = models.BigIntegerField(null=True)
    writer_id = models.CharField(max_length=64, blank=True, default="")
    attempt = models.IntegerField(null=True)
    writer = models.CharField(max_length=64, blank=True, default="")
    own = models.BooleanField(default=False)
    alerts = models.JSONField(default=list)


class WandbFile(models.Model):
    """Which lines of one file of a W&B process are stored: [first_line, end_line) without the gaps.

    writer: "" unless several processes write one run. first_line: number of its first one; those
    before it are of the process it went on from. first_ns: time of that line. origin_ns: when the
    clock of its lines began. tail: last line. recent: [number, hash of its text] of the last lines
    of the console, which may still change.
    """

    pk = models.CompositePrimaryKey("run_id", "attempt", "writer", "file")
    run_id = models.BigIntegerField()
    attempt = models.IntegerField()
    writer = models.CharField(max_length=64)
    file = models.CharField(max_length=64)
    first_line = models.BigIntegerField(default=0)
    end_line = models.BigIntegerField()
    gaps = models.JSONField(default=list)
    first_ns = models.BigIntegerField(null=True)
    origin_ns = models.BigIntegerField(null=True)
    tail = models.TextField(blank=True)
    recent = models.JSONField(default=list)


class WandbUpload(models.Model):
    """A small file that a W&B run uploaded, zstd-compressed. md5: of the content, base64."""

    pk = models.CompositePrimaryKey("run_id", "attempt", "name")
    run_id = models.BigIntegerField()
    attempt = models.IntegerField()
    name = models.CharField(max_length=64)
    content = models.BinaryField()
    content_bytes = models.IntegerField()
    md5 = models.CharField(max_length=24)
    uploaded_at = models.DateTimeField()


class WandbExtra(models.Model):
    """What rows of a W&B run said beside their numbers, in order of arrival; see wandb/extras.py.

    axis, runtime: packed blocks of the rows' places and of `_runtime`. extra: packed, of the rows
    that have more. names: of what is in it, at most 1,000. stored_bytes: of all three.
    """

    pk = models.CompositePrimaryKey("run_id", "attempt", "last_step", "block_id")
    run_id = models.BigIntegerField()
    attempt = models.IntegerField()
    last_step = models.BigIntegerField()
    block_id = models.BigIntegerField(db_default=NextVal("ingest_wandbextra_id"))
    first_step = models.BigIntegerField()
    rows = models.IntegerField()
    stored_bytes = models.IntegerField()
    names = ArrayField(models.TextField())
    axis = models.BinaryField()
    runtime = models.BinaryField()
    extra = models.BinaryField()


class FollowedPart(models.Model):
    """Which records of a followed file are stored: [0, end) without the gaps.

    part: changes when the file is replaced by another one of its name. stride, digests: marks of
    the rows, as in rows.marks.
    """

    pk = models.CompositePrimaryKey("run_id", "file", "part")
    run_id = models.BigIntegerField()
    file = models.CharField(max_length=500)
    part = models.CharField(max_length=100)
    end = models.BigIntegerField()
    gaps = models.JSONField(default=list)
    stride = models.BigIntegerField(default=1)
    digests = models.JSONField(default=list)


class WandbArtifact(models.Model):
    """An artifact that may be a checkpoint. key: 32 hex digits. state: pending until the client
    commits it, then whether it was one. step: of the checkpoint that it became."""

    pk = models.CompositePrimaryKey("run_id", "key")
    run_id = models.BigIntegerField()
    key = models.CharField(max_length=32)
    attempt = models.IntegerField()
    type = models.CharField(max_length=128)
    name = models.CharField(max_length=128)
    digest = models.CharField(max_length=128)
    aliases = models.JSONField(default=list)
    metadata = models.JSONField(default=dict)
    history_step = models.BigIntegerField(null=True)
    logged_ns = models.BigIntegerField()
    state = models.CharField(max_length=16)
    step = models.BigIntegerField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(state__in=["pending", "checkpoint", "not kept"]),
                name="wandb_artifact_state_is_known",
            )
        ]


class WandbManifest(models.Model):
    """What an artifact consists of, zstd-compressed; several if several processes wrote it.

    content_bytes: before compression; content is empty if that was too much to keep.
    """

    pk = models.CompositePrimaryKey("run_id", "key", "md5")
    run_id = models.BigIntegerField()
    key = models.CharField(max_length=32)
    md5 = models.CharField(max_length=32)
    content = models.BinaryField()
    content_bytes = models.BigIntegerField()


class Mirror(models.Model):
    """How far a run is mirrored from another server. behind: lines of history that are missing,
    NULL: unknown. whole_at: when nothing was missing last. error: why the last try failed."""

    run_id = models.BigIntegerField(primary_key=True)
    source = models.CharField(max_length=1_000)
    state = models.CharField(max_length=40)
    step = models.BigIntegerField()
    behind = models.BigIntegerField(null=True)
    error = models.TextField(blank=True)
    seen_at = models.DateTimeField()
    whole_at = models.DateTimeField(null=True)


class LabelRules(models.Model):
    """What a project says about its own labels, beside the built-in conventions."""

    project = models.CharField(max_length=200, primary_key=True)
    version = models.IntegerField()
    rules = models.JSONField(default=list)
    changed_by = models.CharField(max_length=200)
    changed_at_ns = models.BigIntegerField()


class SeenLabels(models.Model):
    """Labels of a stream as a shipper sent them, newest 200 of a project. run "": nothing says
    which; such lines are refused."""

    pk = models.CompositePrimaryKey("project", "digest")
    project = models.CharField(max_length=200)
    digest = models.CharField(max_length=64)
    labels = models.JSONField()
    run = models.CharField(max_length=128, blank=True)
    door = models.CharField(max_length=20)
    token = models.CharField(max_length=200)
    seen_at_ns = models.BigIntegerField()

    class Meta:
        indexes = [models.Index(fields=["project", "-seen_at_ns"], name="ix_seen_labels_newest")]


class Refusal(models.Model):
    """Lines that a door refused and said so, by token and reason."""

    pk = models.CompositePrimaryKey("token_id", "door", "reason")
    token_id = models.BigIntegerField()
    token = models.CharField(max_length=200)
    door = models.CharField(max_length=20)
    reason = models.CharField(max_length=200)
    lines = models.BigIntegerField()
    last_at_ns = models.BigIntegerField()
