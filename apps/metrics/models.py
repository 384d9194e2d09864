"""Tables of metrics. Every primary key starts with the run; values lie in packed blocks.

A point is in exactly one place: in a hot block (as it was flushed) or, once compacted, in a cold
block of its series. Tiers repeat the cold points in buckets. All bytea columns hold zstd frames.
"""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models

from apps.core.sql import NextVal


class SeriesKey(models.Model):
    """A series name of a run, once for the values of the job and once for per-rank values."""

    pk = models.CompositePrimaryKey("run_id", "key_id")
    run_id = models.BigIntegerField()
    key_id = models.BigIntegerField(db_default=NextVal("metrics_key_id"))
    key = models.TextField()
    ranked = models.BooleanField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["run_id", "key", "ranked"], name="uq_metrics_series_key"
            ),
        ]


class Keyset(models.Model):
    """The columns of hot blocks. keyset_id is a digest of the names; keys are in name order."""

    pk = models.CompositePrimaryKey("run_id", "keyset_id")
    run_id = models.BigIntegerField()
    keyset_id = models.BigIntegerField()
    keys = ArrayField(models.BigIntegerField())


class HotBlock(models.Model):
    """A flush as it came: rows x keys. block_id grows with arrival."""

    pk = models.CompositePrimaryKey("run_id", "attempt", "last_step", "block_id")
    run_id = models.BigIntegerField()
    attempt = models.IntegerField()
    last_step = models.BigIntegerField()
    block_id = models.BigIntegerField()
    first_step = models.BigIntegerField()
    keyset_id = models.BigIntegerField()
    ranked = models.BooleanField()
    rows = models.IntegerField()
    points = models.IntegerField()
    nonfinite = models.IntegerField()
    source = models.TextField()
    axis = models.BinaryField()
    cells = models.BinaryField()


class ColdAxis(models.Model):
    """Steps and times shared by the cold blocks of series that were logged together."""

    pk = models.CompositePrimaryKey("run_id", "axis_id")
    run_id = models.BigIntegerField()
    axis_id = models.BigIntegerField()
    rows = models.IntegerField()
    axis = models.BinaryField()


class ColdBlock(models.Model):
    """About 1,000 points of one series. The counts answer questions without decoding."""

    pk = models.CompositePrimaryKey("run_id", "key_id", "attempt", "last_step", "block_id")
    run_id = models.BigIntegerField()
    key_id = models.BigIntegerField()
    attempt = models.IntegerField()
    last_step = models.BigIntegerField()
    block_id = models.BigIntegerField()
    first_step = models.BigIntegerField()
    axis_id = models.BigIntegerField()
    points = models.IntegerField()
    nan = models.IntegerField()
    posinf = models.IntegerField()
    neginf = models.IntegerField()
    minimum = models.FloatField()
    maximum = models.FloatField()
    cells = models.BinaryField()


class Tier(models.Model):
    """1,024 buckets of 2^level steps of one series of the job, from its cold points."""

    pk = models.CompositePrimaryKey("run_id", "key_id", "attempt", "level", "chunk")
    run_id = models.BigIntegerField()
    key_id = models.BigIntegerField()
    attempt = models.IntegerField()
    level = models.SmallIntegerField()
    chunk = models.BigIntegerField()
    axis = models.BinaryField()
    cells = models.BinaryField()


class Fresh(models.Model):
    """A note "these rows no detector has seen", made by the write, taken by detect.

    last_step: NULL in notes of an older program: to the end of the attempt. layers: for the
    detector of layer statistics, which reads other columns than that of the loss.
    """

    pk = models.CompositePrimaryKey("run_id", "attempt", "fresh_id")
    run_id = models.BigIntegerField()
    attempt = models.IntegerField()
    fresh_id = models.BigIntegerField()
    first_step = models.BigIntegerField()
    last_step = models.BigIntegerField(null=True)
    ranked = models.BooleanField()
    layers = models.BooleanField(default=False, db_default=False)


class Detector(models.Model):
    """State and cursor of a detector of one attempt. step: the last row it has judged."""

    pk = models.CompositePrimaryKey("run_id", "attempt", "name")
    run_id = models.BigIntegerField()
    attempt = models.IntegerField()
    name = models.TextField()
    step = models.BigIntegerField(null=True)
    state = models.BinaryField()


class ProjectNames(models.Model):
    """What people said about the metric names of a project. watched: the series a detector reads,
    so that a write can tell in one statement whether it brings news to one."""

    project = models.CharField(primary_key=True, max_length=200)
    roles = models.JSONField()
    rules = models.JSONField()
    watched = ArrayField(models.TextField())
    version = models.IntegerField()
    changed_at_ns = models.BigIntegerField()
    changed_by = models.CharField(max_length=200)


class Planned(models.Model):
    """A change of the training that a person said was wanted. Never deleted: removed_at_ns is set
    where somebody took it back."""

    pk = models.CompositePrimaryKey("run_id", "number")
    run_id = models.BigIntegerField()
    number = models.IntegerField()
    kind = models.CharField(max_length=40)
    from_step = models.BigIntegerField()
    to_step = models.BigIntegerField(null=True)
    text = models.CharField(max_length=500, blank=True)
    said_by = models.CharField(max_length=200)
    said_at_ns = models.BigIntegerField()
    removed_by = models.CharField(max_length=200, blank=True)
    removed_at_ns = models.BigIntegerField(null=True)

    class Meta:
        indexes = [
            models.Index(
                fields=["run_id", "from_step", "number"],
                condition=models.Q(removed_at_ns=None),
                name="ix_planned_counting",
            )
        ]


class ProjectPolicy(models.Model):
    """The thresholds of the loss detector that a project has moved. values: slug -> number."""

    project = models.CharField(primary_key=True, max_length=200)
    values = models.JSONField()
    version = models.IntegerField()
    changed_at_ns = models.BigIntegerField()
    changed_by = models.CharField(max_length=200)


class Siblings(models.Model):
    """The runs that a person chose to compare a run with. chosen: list of references. curves: what
    was read of them."""

    run_id = models.BigIntegerField(primary_key=True)
    chosen = models.JSONField()
    total_steps = models.BigIntegerField()
    compute = models.FloatField(null=True)
    curves = models.BinaryField()
    version = models.IntegerField()
    changed_at_ns = models.BigIntegerField()
    changed_by = models.CharField(max_length=200)


class Pin(models.Model):
    """A series that a person keeps on the flight deck of a run. person "": for everybody."""

    pk = models.CompositePrimaryKey("run_id", "person", "key")
    run_id = models.BigIntegerField()
    person = models.CharField(max_length=200)
    key = models.CharField(max_length=500)
    pinned_at_ns = models.BigIntegerField()


class Glance(models.Model):
    """What the list of runs shows of the newest attempt of a run, as of heard_ns: the contact that
    was the newest when it was made. spark: finite values, oldest first. goodput: of the last
    24 hours, of all attempts, None where no step is known; goodput_ns: when it was computed."""

    run_id = models.BigIntegerField(primary_key=True)
    heard_ns = models.BigIntegerField()
    attempt = models.IntegerField()
    loss = models.FloatField(null=True)
    spark = ArrayField(models.FloatField())
    nonfinite = models.IntegerField()
    tokens_s = models.FloatField(null=True)
    usual_tokens_s = models.FloatField(null=True)
    goodput = models.FloatField(null=True)
    goodput_ns = models.BigIntegerField(null=True)


class ProjectSignals(models.Model):
    """The patterns of a project for numbers in the log lines of ranks. patterns: list of texts."""

    project = models.CharField(primary_key=True, max_length=200)
    patterns = models.JSONField()
    version = models.IntegerField()
    changed_at_ns = models.BigIntegerField()
    changed_by = models.CharField(max_length=200)
