"""Machines, where they stand and what happened to them. A node outlives runs."""

from __future__ import annotations

from django.db import models

from apps.nodes.domain.lemon import NEVER
from apps.nodes.domain.standing import Act, HostState

_STATES = [state.value for state in HostState]
_TRAILING_NUMBER = r"[-_]*[0-9]+$"


class Node(models.Model):
    """One machine by its stable name.

    state to replaced_by: as in `domain.standing.Standing`, written by `store.save_standing` only.
    log2_score: `domain.lemon`. rack: what somebody said, "" if nobody did. group_name: the rack,
    else the name without domain and number; the database computes it, as it does urgency: what
    lists are sorted by, least first.
    """

    name = models.CharField(max_length=255, unique=True)
    first_seen_at = models.DateTimeField(auto_now_add=True)
    state = models.CharField(max_length=20, db_default=HostState.OK.value)
    since_ns = models.BigIntegerField(null=True)
    changed_by = models.CharField(max_length=200, blank=True, db_default="")
    reason = models.TextField(blank=True, db_default="")
    cause = models.CharField(max_length=100, blank=True, db_default="")
    came_from = models.CharField(max_length=20, db_default=HostState.OK.value)
    replaced_by = models.CharField(max_length=255, blank=True, db_default="")
    log2_score = models.FloatField(db_default=NEVER)
    rack = models.CharField(max_length=200, blank=True, db_default="")
    group_name = models.GeneratedField(
        expression=models.Case(
            models.When(
                rack="",
                then=models.Func(
                    models.Func(
                        "name",
                        models.Value("."),
                        models.Value(1),
                        function="split_part",
                        output_field=models.TextField(),
                    ),
                    models.Value(_TRAILING_NUMBER),
                    models.Value(""),
                    function="regexp_replace",
                    output_field=models.CharField(max_length=255),
                ),
            ),
            default="rack",
        ),
        output_field=models.CharField(max_length=255),
        db_persist=True,
    )
    urgency = models.GeneratedField(
        expression=models.Case(
            models.When(state=HostState.CONFIRMED.value, then=models.Value(0)),
            models.When(state=HostState.SUSPECTED.value, then=models.Value(1)),
            models.When(state=HostState.CORDONED.value, then=models.Value(2)),
            models.When(state=HostState.REPLACED.value, then=models.Value(4)),
            default=models.Value(3),
        ),
        output_field=models.SmallIntegerField(),
        db_persist=True,
    )

    class Meta:
        indexes = [
            models.Index(fields=["urgency", "-log2_score", "name"], name="ix_node_urgency"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(state__in=_STATES), name="node_state_is_known"
            ),
        ]


class NodeChange(models.Model):
    """One change of a node's standing; rows are only added. seq: from 0, by node."""

    pk = models.CompositePrimaryKey("node", "seq")
    node = models.CharField(max_length=255)
    seq = models.IntegerField()
    at_ns = models.BigIntegerField()
    act = models.CharField(max_length=20)
    before = models.CharField(max_length=20)
    after = models.CharField(max_length=20)
    actor = models.CharField(max_length=200)
    reason = models.TextField()
    cause = models.CharField(max_length=100, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(act__in=[act.value for act in Act]), name="node_act_is_known"
            ),
        ]


class NodeEventRow(models.Model):
    """One event of a node. The digest makes a repeated delivery harmless."""

    pk = models.CompositePrimaryKey("node", "time_ns", "digest")
    node = models.CharField(max_length=255)
    time_ns = models.BigIntegerField()
    digest = models.CharField(max_length=32)
    kind = models.CharField(max_length=64)
    severity = models.CharField(max_length=16)
    message = models.TextField()
    device = models.CharField(max_length=128, null=True)
    source = models.CharField(max_length=32, db_default="api")
    raw = models.TextField(db_default="")
    ended_ns = models.BigIntegerField(null=True)


class LinkTest(models.Model):
    """Bandwidths between hosts, as somebody sent them, and the verdict (domain/links.py).

    digest: of the body, so that the same test sent twice is one. body: hosts and float32[n, n] of
    Gbit/s, MessagePack, zstd. verdict: LinkVerdict as JSON. left_out: why -> how many.
    """

    digest = models.CharField(max_length=64, unique=True)
    name = models.CharField(max_length=100)
    tool = models.CharField(max_length=20)
    measured_ns = models.BigIntegerField()
    sent_by = models.CharField(max_length=200)
    sent_at_ns = models.BigIntegerField()
    hosts = models.IntegerField()
    body = models.BinaryField()
    verdict = models.JSONField()
    wrong = models.JSONField()
    left_out = models.JSONField()

    class Meta:
        indexes = [models.Index(fields=["-measured_ns", "-id"], name="ix_link_test_newest")]


class NodeConditionRow(models.Model):
    """How a node stood when a source looked last; see domain.conditions.Held.

    since_ns: of a state that is bad, of the last change of others.
    """

    pk = models.CompositePrimaryKey("node", "source", "name")
    node = models.CharField(max_length=255)
    source = models.CharField(max_length=32)
    name = models.CharField(max_length=128)
    mode = models.CharField(max_length=8)
    kind = models.CharField(max_length=64)
    level = models.CharField(max_length=16)
    message = models.TextField()
    value = models.FloatField()
    since_ns = models.BigIntegerField()
    device = models.CharField(max_length=128, null=True)
    raw = models.TextField()
