"""Machines and what happened to them. A node outlives runs."""

from __future__ import annotations

from django.db import models


class Node(models.Model):
    """One machine by its stable name."""

    name = models.CharField(max_length=255, unique=True)
    first_seen_at = models.DateTimeField(auto_now_add=True)


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
