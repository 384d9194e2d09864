"""Runs, their attempts, the starts that feed them, and where ranks run."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Coalesce, NullIf

from apps.runs.domain.stop import ACTIVE, StopState


class Run(models.Model):
    """One training effort with one goal. `key` is what people and programs call it.

    started_by: whom its first `wandb` process named. owner: the person who has taken it.
    """

    key = models.CharField(max_length=128, unique=True)
    project = models.CharField(max_length=200, blank=True)
    world_size = models.IntegerField(null=True)
    config = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)
    started_by = models.CharField(max_length=200, blank=True, db_default="")
    owner = models.CharField(max_length=200, blank=True, db_default="")

    class Meta:
        indexes = [
            models.Index(fields=["project", "id"], name="ix_run_project"),
            models.Index(
                Coalesce(NullIf("owner", models.Value("")), "started_by"), "id", name="ix_run_owner"
            ),
        ]


class SavedView(models.Model):
    """A list of runs that a person gave a name. query: of its address."""

    pk = models.CompositePrimaryKey("person", "name")
    person = models.CharField(max_length=200)
    name = models.CharField(max_length=60)
    query = models.CharField(max_length=600)
    saved_at_ns = models.BigIntegerField()


class Contact(models.Model):
    """When a run was heard of. Apart from its run, whose row is wide: it changes with every body.

    heard_ns: our clock, of the newest body received; contacts: how often that changed; both are
    written under the lock of the run. watched: the watch looks at it. rhythm, limit_s, usual_s:
    what the watch has learned (domain/contact.py). told: key -> severity of the findings of the
    watch that are open.
    """

    run_id = models.BigIntegerField(primary_key=True)
    heard_ns = models.BigIntegerField()
    contacts = models.BigIntegerField(default=1)
    watched = models.BooleanField(default=True)
    rhythm = models.JSONField(default=dict)
    limit_s = models.FloatField(null=True)
    usual_s = models.FloatField(null=True)
    told = models.JSONField(default=dict)

    class Meta:
        indexes = [
            models.Index(fields=["run_id"], condition=models.Q(watched=True), name="ix_watched")
        ]


class Watch(models.Model):
    """One row: when the watch looked last, and since when it has not missed a look."""

    id = models.SmallIntegerField(primary_key=True)
    looked_ns = models.BigIntegerField()
    resumed_ns = models.BigIntegerField()
    judged_ns = models.BigIntegerField()


class Attempt(models.Model):
    """One launch of a run. continued_by: the attempt the same processes went on with after
    they went back to a lower step by themselves. last_row_ns: time of the newest metric row of
    the whole job; last_ns: of anything."""

    pk = models.CompositePrimaryKey("run_id", "number")
    run_id = models.BigIntegerField()
    number = models.IntegerField()
    parent = models.IntegerField(null=True)
    fork_step = models.BigIntegerField(null=True)
    first_step = models.BigIntegerField(null=True)
    last_step = models.BigIntegerField(null=True)
    started_ns = models.BigIntegerField()
    last_ns = models.BigIntegerField(null=True)
    last_row_ns = models.BigIntegerField(null=True)
    exit_code = models.IntegerField(null=True)
    summary = models.JSONField(default=dict)
    failed = models.BooleanField(default=False)
    continued_by = models.IntegerField(null=True)

    class Meta:
        indexes = [
            models.Index(
                fields=["last_ns"],
                condition=models.Q(exit_code=0, failed=False),
                name="ix_attempt_ended_well",
            )
        ]


class AttemptConfig(models.Model):
    """What one attempt said of its configuration; the newest statement of each name."""

    pk = models.CompositePrimaryKey("run_id", "number")
    run_id = models.BigIntegerField()
    number = models.IntegerField()
    config = models.JSONField(default=dict)


class Launch(models.Model):
    """One start of one source. A slot runs once in an attempt."""

    pk = models.CompositePrimaryKey("run_id", "slot", "launch")
    run_id = models.BigIntegerField()
    slot = models.CharField(max_length=300)
    launch = models.CharField(max_length=500)
    attempt = models.IntegerField()
    started_ns = models.BigIntegerField()
    node = models.CharField(max_length=255, null=True)
    resume_step = models.BigIntegerField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run_id", "attempt", "slot"], name="one_start_a_slot")
        ]


class Placement(models.Model):
    """Rank -> node and device, in one attempt."""

    pk = models.CompositePrimaryKey("run_id", "attempt", "rank")
    run_id = models.BigIntegerField()
    attempt = models.IntegerField()
    rank = models.IntegerField()
    node = models.CharField(max_length=255)
    local_rank = models.IntegerField(null=True)
    device = models.CharField(max_length=200, null=True)

    class Meta:
        indexes = [models.Index(fields=["node", "run_id", "attempt"], name="ix_placement_node")]


class Stop(models.Model):
    """A person's request that an attempt stops. At most one of an attempt is active.

    state and the times below it are written by `stop_store.save_state` only, the rest once.
    """

    pk = models.CompositePrimaryKey("run_id", "number")
    run_id = models.BigIntegerField()
    number = models.IntegerField()
    attempt = models.IntegerField()
    idempotency_key = models.CharField(max_length=128)
    actor = models.CharField(max_length=200)
    reason = models.TextField()
    requested_at_ns = models.BigIntegerField()

    state = models.CharField(max_length=20)
    delivered_at_ns = models.BigIntegerField(null=True)
    ended_at_ns = models.BigIntegerField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(state__in=[state.value for state in StopState]),
                name="stop_state_is_known",
            ),
            models.UniqueConstraint(
                fields=["run_id", "idempotency_key"], name="one_stop_an_idempotency_key"
            ),
            models.UniqueConstraint(
                fields=["run_id", "attempt"],
                condition=models.Q(state__in=[state.value for state in sorted(ACTIVE)]),
                name="one_active_stop",
            ),
        ]


class ProjectAbout(models.Model):
    """What a project is for, in words. A project is a name that runs give; "": runs without one."""

    project = models.CharField(max_length=200, primary_key=True)
    text = models.TextField(blank=True)
    changed_by = models.CharField(max_length=200)
    changed_at_ns = models.BigIntegerField()
