"""Rollback orders, what happened to each, and who starts runs again."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from apps.core.sql import NextVal
from apps.rollbacks.domain.handover import HandoverState, Kind, StepState
from apps.rollbacks.domain.state import ACTIVE, OrderState

_STATES = [state.value for state in OrderState]
_ACTIVE = [state.value for state in OrderState if state in ACTIVE]
_KINDS = [kind.value for kind in Kind]
_HANDOVER_STATES = [state.value for state in HandoverState]
_STEP_STATES = [state.value for state in StepState]


class Order(models.Model):
    """An order to start again from a checkpoint. At most one of a run is active.

    state and the fields below it are written by `store.save_state` only, the others once.
    attempt, step, path, inventory_digest: the chosen checkpoint. kind, onset_step: of the incident.
    """

    pk = models.CompositePrimaryKey("run_id", "id")
    run_id = models.BigIntegerField()
    id = models.BigIntegerField(db_default=NextVal("rollback_order_id"))
    idempotency_key = models.CharField(max_length=128)
    incident_id = models.BigIntegerField(null=True)
    kind = models.CharField(max_length=50)
    onset_step = models.BigIntegerField(null=True)
    from_attempt = models.IntegerField()
    attempt = models.IntegerField()
    step = models.BigIntegerField()
    path = models.TextField()
    inventory_digest = models.CharField(max_length=64)
    branch_dir = models.TextField()
    exclude_nodes = models.JSONField(default=list)
    skip_ranges = models.JSONField(default=list)
    forced = models.BooleanField()
    reason = models.TextField()
    actor = models.CharField(max_length=200)
    requested_at_ns = models.BigIntegerField()

    state = models.CharField(max_length=20)
    changed_at_ns = models.BigIntegerField()
    launch = models.CharField(max_length=500, blank=True)
    approver = models.CharField(max_length=200, blank=True, default="", db_default="")
    resumed_attempt = models.IntegerField(null=True)
    resumed_step = models.BigIntegerField(null=True)
    verdict = models.JSONField(null=True)

    class Meta:
        indexes = [models.Index(fields=["id"], name="ix_order_id")]
        constraints = [
            models.CheckConstraint(condition=Q(state__in=_STATES), name="order_state_is_known"),
            models.UniqueConstraint(
                fields=["run_id", "idempotency_key"], name="one_order_an_idempotency_key"
            ),
            models.UniqueConstraint(
                fields=["run_id"], condition=Q(state__in=_ACTIVE), name="one_active_order_a_run"
            ),
        ]


class OrderEvent(models.Model):
    """One line of an order's history. before and after are equal for a note."""

    pk = models.CompositePrimaryKey("run_id", "order_id", "seq")
    run_id = models.BigIntegerField()
    order_id = models.BigIntegerField()
    seq = models.IntegerField()
    at_ns = models.BigIntegerField()
    act = models.CharField(max_length=20)
    before = models.CharField(max_length=20, blank=True)
    after = models.CharField(max_length=20)
    actor = models.CharField(max_length=200)
    why = models.TextField(blank=True)


class LauncherBinding(models.Model):
    """Who starts the runs of a project, or one run. run_key "": every run of the project.

    config: as its kind wants it, without secrets. sealed: address and secret, encrypted; shown:
    what a page may say of them. automatic: it follows an order without being asked.
    """

    project = models.CharField(max_length=200, blank=True)
    run_key = models.CharField(max_length=128, blank=True)
    kind = models.CharField(max_length=20)
    config = models.JSONField(default=dict)
    sealed = models.TextField(blank=True)
    shown = models.CharField(max_length=300, blank=True)
    automatic = models.BooleanField(default=False)
    enabled = models.BooleanField(default=True)
    version = models.IntegerField(default=1)
    changed_at_ns = models.BigIntegerField()
    changed_by = models.CharField(max_length=200)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(kind__in=_KINDS), name="launcher_kind_is_known"),
            models.UniqueConstraint(fields=["project", "run_key"], name="one_launcher_a_scope"),
        ]


class Handover(models.Model):
    """An order on its way to its launcher. kind, config: of the binding when it began.

    claimed_until_ns: a worker is on it until then. due_at_ns: not to be looked at earlier.
    text: why it is not done. launch: the name of the start it made.
    """

    pk = models.CompositePrimaryKey("run_id", "order_id")
    run_id = models.BigIntegerField()
    order_id = models.BigIntegerField()
    binding_id = models.BigIntegerField()
    kind = models.CharField(max_length=20)
    config = models.JSONField(default=dict)
    actor = models.CharField(max_length=200)
    began_at_ns = models.BigIntegerField()
    state = models.CharField(max_length=20)
    changed_at_ns = models.BigIntegerField()
    claimed_until_ns = models.BigIntegerField(default=0)
    due_at_ns = models.BigIntegerField(default=0)
    text = models.TextField(blank=True)
    launch = models.CharField(max_length=500, blank=True)

    class Meta:
        indexes = [
            models.Index(fields=["due_at_ns"], condition=Q(state="working"), name="ix_handover_due")
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=_HANDOVER_STATES), name="handover_state_is_known"
            )
        ]


class HandoverStep(models.Model):
    """One step of a hand-over; see `domain.handover.Step`."""

    pk = models.CompositePrimaryKey("run_id", "order_id", "seq")
    run_id = models.BigIntegerField()
    order_id = models.BigIntegerField()
    seq = models.IntegerField()
    key = models.CharField(max_length=300)
    words = models.TextField()
    state = models.CharField(max_length=20)
    before = models.JSONField(default=dict)
    found = models.JSONField(default=dict)
    began_at_ns = models.BigIntegerField(default=0)
    done_at_ns = models.BigIntegerField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=_STEP_STATES), name="handover_step_state_is_known"
            )
        ]


class HandoverCall(models.Model):
    """One command or request of a hand-over and its answer. Only added to, and never a secret."""

    pk = models.CompositePrimaryKey("run_id", "order_id", "seq")
    run_id = models.BigIntegerField()
    order_id = models.BigIntegerField()
    seq = models.IntegerField()
    at_ns = models.BigIntegerField()
    step = models.CharField(max_length=300)
    said = models.TextField()
    answer = models.TextField(blank=True)
    took_ms = models.IntegerField()


class ProjectRules(models.Model):
    """What a project asks of a rollback. margin_steps: null for the rule of domain/margin.py."""

    project = models.CharField(primary_key=True, max_length=200)
    margin_steps = models.BigIntegerField(null=True)
    second_approver = models.BooleanField()
    version = models.IntegerField()
    changed_at_ns = models.BigIntegerField()
    changed_by = models.CharField(max_length=200)


class LoadedCheckpoints(models.Model):
    """What the processes of an attempt printed that they loaded. loads: [[step, path], ...], each
    once, the first ones; null where a line does not say."""

    pk = models.CompositePrimaryKey("run_id", "attempt")
    run_id = models.BigIntegerField()
    attempt = models.IntegerField()
    loads = models.JSONField(default=list)


class OrderWord(models.Model):
    """A line of an order's history that the webhook is still to be told. tries: made so far."""

    pk = models.CompositePrimaryKey("run_id", "order_id", "seq")
    run_id = models.BigIntegerField()
    order_id = models.BigIntegerField()
    seq = models.IntegerField()
    due_at_ns = models.BigIntegerField()
    tries = models.IntegerField(default=0)

    class Meta:
        indexes = [models.Index(fields=["due_at_ns"], name="ix_order_word_due")]
