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
