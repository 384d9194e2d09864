"""Rollback orders and what happened to each."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from apps.core.sql import NextVal
from apps.rollbacks.domain.state import ACTIVE, OrderState

_STATES = [state.value for state in OrderState]
_ACTIVE = [state.value for state in OrderState if state in ACTIVE]


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
