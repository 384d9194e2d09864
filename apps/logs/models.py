"""Tables of log lines. Every key starts with the run; written by store only."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models

from apps.core.sql import NextVal


class Source(models.Model):
    """One generation of one log file. node: "" if unknown.

    end_offset: bytes stored from the start, less the rows of Gap. skipped_lines: came again.
    carry: what the bytes before end_offset leave open (domain/reading/carry.py).
    """

    pk = models.CompositePrimaryKey("run_id", "source_id")
    run_id = models.BigIntegerField()
    source_id = models.BigIntegerField(db_default=NextVal("logs_source_id"))
    attempt = models.IntegerField()
    node = models.CharField(max_length=253)
    name = models.TextField()
    generation = models.IntegerField()
    channel = models.CharField(max_length=20)
    local_rank = models.IntegerField(null=True)
    end_offset = models.BigIntegerField(default=0)
    lines = models.BigIntegerField(default=0)
    skipped_lines = models.BigIntegerField(default=0)
    last_ns = models.BigIntegerField(null=True)
    carry = models.BinaryField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["run_id", "attempt", "node", "name", "generation"],
                name="logs_source_is_one_file",
            )
        ]


class Speaker(models.Model):
    """The file whose lines are taken as the job's own: the first that told numbers of the job in
    formats of this family. Further files that tell the same are copies."""

    pk = models.CompositePrimaryKey("run_id", "attempt", "family")
    run_id = models.BigIntegerField()
    attempt = models.IntegerField()
    family = models.CharField(max_length=40)
    node = models.CharField(max_length=253)
    name = models.TextField()


class Gap(models.Model):
    """Bytes of a file that never came. Deleted or cut when they come late."""

    pk = models.CompositePrimaryKey("run_id", "source_id", "start_offset")
    run_id = models.BigIntegerField()
    source_id = models.BigIntegerField()
    start_offset = models.BigIntegerField()
    end_offset = models.BigIntegerField()


class Chunk(models.Model):
    """Lines of one batch of one node, packed (domain/chunk/chunks.py). The other columns are its
    header.

    first_*, last_*: smallest and largest (time, rank, seq); rank -1 = none. copies: lines that
    repeat a rank file. ranks: ascending, -1 if some line has none.
    body: NULL if the bytes are in a bundle, size_bytes of them from body_at on.
    sieve: which texts can be in it (domain/query/sieve.py), "" = any.
    merged: made of small chunks (store/merging.py), or as large as those.
    """

    pk = models.CompositePrimaryKey("run_id", "chunk_id")
    run_id = models.BigIntegerField()
    chunk_id = models.BigIntegerField(db_default=NextVal("logs_chunk_id"))
    attempt = models.IntegerField()
    node = models.CharField(max_length=253)
    batch_id = models.CharField(max_length=128)
    first_ns = models.BigIntegerField()
    first_rank = models.IntegerField()
    first_seq = models.BigIntegerField()
    last_ns = models.BigIntegerField()
    last_rank = models.IntegerField()
    last_seq = models.BigIntegerField()
    lines = models.IntegerField()
    copies = models.IntegerField()
    debug = models.IntegerField()
    info = models.IntegerField()
    warning = models.IntegerField()
    error = models.IntegerField()
    critical = models.IntegerField()
    ranks = ArrayField(models.IntegerField())
    text_bytes = models.BigIntegerField()
    body = models.BinaryField(null=True)
    size_bytes = models.IntegerField(db_default=0)
    bundle_id = models.BigIntegerField(null=True)
    body_at = models.BigIntegerField(db_default=0)
    sieve = models.BinaryField(db_default=b"")
    merged = models.BooleanField(db_default=False)

    class Meta:
        indexes = [
            models.Index(fields=["run_id", "attempt", "first_ns"], name="ix_chunk_first"),
            models.Index(fields=["run_id", "attempt", "last_ns"], name="ix_chunk_last"),
            models.Index(fields=["run_id", "attempt", "node", "last_ns"], name="ix_chunk_node"),
            models.Index(
                fields=["run_id", "attempt", "node", "first_ns"],
                condition=models.Q(merged=False),
                name="ix_chunk_to_merge",
            ),
        ]


class Bundle(models.Model):
    """One object of the bucket: the bodies of several chunks (store/payloads.py).

    chunks: how many still refer to it. dropped_at: since when none does.
    """

    pk = models.CompositePrimaryKey("run_id", "bundle_id")
    run_id = models.BigIntegerField()
    bundle_id = models.BigIntegerField(db_default=NextVal("logs_bundle_id"))
    key = models.TextField(unique=True)
    size_bytes = models.BigIntegerField()
    chunks = models.IntegerField()
    dropped_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index(
                fields=["dropped_at"],
                condition=models.Q(dropped_at__isnull=False),
                name="ix_bundle_dropped",
            )
        ]


class RankNode(models.Model):
    """A node from which lines of a rank came, so that only its chunks are looked at."""

    pk = models.CompositePrimaryKey("run_id", "attempt", "rank", "node")
    run_id = models.BigIntegerField()
    attempt = models.IntegerField()
    rank = models.IntegerField()
    node = models.CharField(max_length=253)


class PulseHour(models.Model):
    """Lines by minute of one node, and of each of its ranks (domain/clock/pulse.py).

    hour: since 1970.
    """

    pk = models.CompositePrimaryKey("run_id", "attempt", "node", "hour")
    run_id = models.BigIntegerField()
    attempt = models.IntegerField()
    node = models.CharField(max_length=253)
    hour = models.BigIntegerField()
    body = models.BinaryField()


class StepClock(models.Model):
    """When one node came to its newest steps (domain/clock/skew.py)."""

    pk = models.CompositePrimaryKey("run_id", "attempt", "node")
    run_id = models.BigIntegerField()
    attempt = models.IntegerField()
    node = models.CharField(max_length=253)
    body = models.BinaryField()


class KeepRule(models.Model):
    """How long and how much of its logs a project keeps, where people said it. NULL: no limit."""

    project = models.CharField(max_length=200, primary_key=True)
    days = models.IntegerField(null=True)
    most_bytes = models.BigIntegerField(null=True)
    changed_by = models.CharField(max_length=200)
    changed_at_ns = models.BigIntegerField()


class Pin(models.Model):
    """An attempt whose lines no rule deletes."""

    pk = models.CompositePrimaryKey("run_id", "attempt")
    run_id = models.BigIntegerField()
    attempt = models.IntegerField()
    pinned_by = models.CharField(max_length=200)
    pinned_at_ns = models.BigIntegerField()


class Deleted(models.Model):
    """What retention has deleted of an attempt. before_ns: the newest line that went."""

    pk = models.CompositePrimaryKey("run_id", "attempt")
    run_id = models.BigIntegerField()
    attempt = models.IntegerField()
    lines = models.BigIntegerField()
    size_bytes = models.BigIntegerField()
    before_ns = models.BigIntegerField()
    deleted_at_ns = models.BigIntegerField()


class Note(models.Model):
    """A single fact about the log store as a whole (store/notes.py)."""

    name = models.CharField(max_length=40, primary_key=True)
    value = models.TextField()
    at = models.DateTimeField()


class Event(models.Model):
    """A line of warning or worse, also in a chunk. Traceback frames and console copies of rank
    files have no row. message_at: characters of prefixes in text. taxonomy: the version that gave
    the fault class (Taxonomy.label), "" for lines of an older program.
    """

    pk = models.CompositePrimaryKey("run_id", "source_id", "seq")
    run_id = models.BigIntegerField()
    source_id = models.BigIntegerField()
    seq = models.BigIntegerField()
    attempt = models.IntegerField()
    node = models.CharField(max_length=253)
    channel = models.CharField(max_length=20)
    time_ns = models.BigIntegerField()
    local_rank = models.IntegerField(null=True)
    rank = models.IntegerField(null=True)
    severity = models.SmallIntegerField()
    step = models.BigIntegerField(null=True)
    fault_class = models.CharField(max_length=60, null=True)
    taxonomy = models.CharField(max_length=24, db_default="")
    message_at = models.IntegerField()
    text = models.TextField()

    class Meta:
        indexes = [
            models.Index(fields=["run_id", "attempt", "time_ns"], name="ix_event_time"),
        ]


class FaultClasses(models.Model):
    """One revision of what a project says about fault classes (domain/triage/ownclasses.py); the
    newest counts. off: built-in classes that take no line. unread_lines: of this revision, those
    its patterns had no time for."""

    pk = models.CompositePrimaryKey("project", "version")
    project = models.CharField(max_length=200)
    version = models.IntegerField()
    classes = models.JSONField()
    off = ArrayField(models.TextField())
    changed_at_ns = models.BigIntegerField()
    changed_by = models.CharField(max_length=200)
    reason = models.TextField()
    unread_lines = models.BigIntegerField(default=0)


class RankLog(models.Model):
    """What is known of one process from its lines (domain/triage/ranks.py: RankState)."""

    pk = models.CompositePrimaryKey("run_id", "attempt", "node", "slot")
    run_id = models.BigIntegerField()
    attempt = models.IntegerField()
    node = models.CharField(max_length=253)
    slot = models.CharField(max_length=20)
    rank = models.IntegerField(null=True)
    local_rank = models.IntegerField(null=True)
    pid = models.BigIntegerField(null=True)
    world_size = models.IntegerField(null=True)
    lines = models.BigIntegerField()
    copies = models.BigIntegerField()
    worst_severity = models.SmallIntegerField()
    last_ns = models.BigIntegerField(null=True)
    last_text = models.TextField()
    last_step = models.BigIntegerField(null=True)
    progress_ns = models.BigIntegerField(null=True)
    progress_source = models.TextField()
    progress_seq = models.BigIntegerField()
    pace_ns = models.BigIntegerField(null=True)


class Triage(models.Model):
    """Where the first-failure rule stands on one attempt.

    dirty: lines came that can change the verdict. waiting_since_ns: an error without progress,
    not yet a failure. changed_ns: last change of an open verdict. look_again_ns: when time alone
    must be judged; NULL if nothing is open. fingerprint: of the last verdict given out, "" = none.
    """

    pk = models.CompositePrimaryKey("run_id", "attempt")
    run_id = models.BigIntegerField()
    attempt = models.IntegerField()
    dirty = models.BooleanField(default=True)
    waiting_since_ns = models.BigIntegerField(null=True)
    confirmed_ns = models.BigIntegerField(null=True)
    changed_ns = models.BigIntegerField(null=True)
    look_again_ns = models.BigIntegerField(null=True)
    fingerprint = models.CharField(max_length=64, default="")
    settled = models.BooleanField(default=False)
    taxonomy = models.CharField(max_length=24, default="")


class Template(models.Model):
    """What a template of a run looks like. text: masked; example: a line of its first batch.
    attempt: that of its first batch."""

    pk = models.CompositePrimaryKey("run_id", "template_id")
    run_id = models.BigIntegerField()
    template_id = models.BigIntegerField()
    attempt = models.IntegerField(default=0)
    text = models.TextField()
    example = models.TextField()


class TemplateTally(models.Model):
    """Counts of templates of one batch, or of several that were added up
    (domain/pattern/tallyblock.py).

    level: 0 for a batch; a row of level n stands for about 64**n of them. hours: since 1970 UTC,
    both included.
    """

    pk = models.CompositePrimaryKey("run_id", "attempt", "tally_id")
    run_id = models.BigIntegerField()
    attempt = models.IntegerField()
    tally_id = models.BigIntegerField(db_default=NextVal("logs_tally_id"))
    level = models.SmallIntegerField()
    first_hour = models.IntegerField()
    last_hour = models.IntegerField()
    body = models.BinaryField()


class OrdinaryTemplate(models.Model):
    """A template that attempts which ended well said too. attempts: how many of them; last_ns: when
    the newest of them ended. project: "" for runs without one.
    """

    pk = models.CompositePrimaryKey("project", "template_id")
    project = models.CharField(max_length=200)
    template_id = models.BigIntegerField()
    attempts = models.IntegerField()
    last_ns = models.BigIntegerField()

    class Meta:
        indexes = [models.Index(fields=["project", "last_ns"], name="ix_ordinary_age")]


class JudgedAttempt(models.Model):
    """An attempt whose templates were taken over as ordinary; once each."""

    pk = models.CompositePrimaryKey("run_id", "attempt")
    run_id = models.BigIntegerField()
    attempt = models.IntegerField()


class Reclassing(models.Model):
    """An attempt whose stored lines since a time get the fault classes of another version
    (logs/reclassing.py). taxonomy: its label. time_ns, source_id, seq: of the last line that was
    looked at. total: NULL before the first slice."""

    pk = models.CompositePrimaryKey("run_id", "attempt")
    run_id = models.BigIntegerField()
    attempt = models.IntegerField()
    taxonomy = models.CharField(max_length=24)
    since_ns = models.BigIntegerField()
    time_ns = models.BigIntegerField()
    source_id = models.BigIntegerField()
    seq = models.BigIntegerField()
    done = models.BigIntegerField()
    total = models.BigIntegerField(null=True)


class FlightGroup(models.Model):
    """A process group that an unfinished operation of an attempt names; its name and its size are
    its key. ranks: int32, little-endian, zstd."""

    pk = models.CompositePrimaryKey("run_id", "attempt", "name", "size")
    run_id = models.BigIntegerField()
    attempt = models.IntegerField()
    name = models.CharField(max_length=120)
    size = models.IntegerField()
    title = models.CharField(max_length=120)
    ranks = models.BinaryField()


class FlightDump(models.Model):
    """What one rank had enqueued (domain/triage/flight_dump.py: Dump). body: msgpack, zstd.
    digest: sha256 of the dump as it came."""

    pk = models.CompositePrimaryKey("run_id", "attempt", "rank")
    run_id = models.BigIntegerField()
    attempt = models.IntegerField()
    rank = models.IntegerField()
    digest = models.BinaryField()
    body = models.BinaryField()


class FlightRecord(models.Model):
    """The verdict on the dumps of an attempt. dirty: dumps came since. verdict: FlightVerdict as
    JSON, NULL before the first. dumps: how many ranks sent one. changed_ns: when the last came."""

    pk = models.CompositePrimaryKey("run_id", "attempt")
    run_id = models.BigIntegerField()
    attempt = models.IntegerField()
    dirty = models.BooleanField(default=True)
    dumps = models.IntegerField(default=0)
    changed_ns = models.BigIntegerField()
    verdict = models.JSONField(null=True)

    class Meta:
        indexes = [
            models.Index(
                "run_id", "attempt", name="ix_flight_dirty", condition=models.Q(dirty=True)
            )
        ]
