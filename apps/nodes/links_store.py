"""Every statement against the table of link tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec
import numpy as np
import zstandard

from apps.nodes.domain.links import LinkVerdict, Matrix
from apps.nodes.domain.linktext import LinkTable
from apps.nodes.models import LinkTest

KEPT = 500
"""Tests that are kept: the oldest go first."""
_LEVEL = 3
_MAX_BYTES = 16 << 20
_INFO = (
    "id", "name", "tool", "measured_ns", "sent_by", "sent_at_ns", "hosts", "verdict", "wrong",
    "left_out",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class LinkTestInfo:
    """A test without its matrix. wrong: pairs that got wrong data."""

    id: int
    name: str
    tool: str
    measured_ns: int
    sent_by: str
    sent_at_ns: int
    hosts: int
    verdict: LinkVerdict
    wrong: tuple[tuple[str, str], ...]
    left_out: Mapping[str, int]

    @property
    def sentences(self) -> list[str]:
        """The verdict in words; wrong data first."""
        wrong = [f"wrong data between {a} and {b}: that is worse than slow" for a, b in self.wrong]
        quiet = wrong and self.verdict.quiet
        return wrong + ([] if quiet else self.verdict.sentences)

    @property
    def quiet(self) -> bool:
        """Whether nothing stands out."""
        return self.verdict.quiet and not self.wrong


@dataclass(frozen=True, slots=True)
class NewTest:
    """A test to keep. digest: of what was sent."""

    digest: str
    name: str
    measured_ns: int
    sent_by: str
    table: LinkTable
    verdict: LinkVerdict


class _Body(msgspec.Struct, array_like=True):
    hosts: list[str]
    cells: bytes


def add(test: NewTest, now_ns: int) -> tuple[LinkTestInfo, bool]:
    """Keeps a test, and the newest KEPT of all; whether it is new: the same may be sent twice at
    once. -- uses ix_link_test_newest"""
    table = test.table
    body = _Body(list(table.hosts), table.matrix.astype(np.float32).tobytes())
    row, new = LinkTest.objects.get_or_create(
        digest=test.digest,
        defaults={
            "name": test.name,
            "tool": table.tool,
            "measured_ns": test.measured_ns,
            "sent_by": test.sent_by,
            "sent_at_ns": now_ns,
            "hosts": len(table.hosts),
            "body": zstandard.compress(msgspec.msgpack.encode(body), _LEVEL),
            "verdict": msgspec.to_builtins(test.verdict),
            "wrong": [list(pair) for pair in table.wrong],
            "left_out": dict(table.left_out or {}),
        },
    )
    old = LinkTest.objects.order_by("-measured_ns", "-id").values_list("id", flat=True)[KEPT:]
    LinkTest.objects.filter(id__in=list(old)).exclude(id=row.pk).delete()
    return _info(row), new


def by_digest(digest: str) -> LinkTestInfo | None:
    """The test that was sent as these bytes. -- uses the unique index"""
    row = LinkTest.objects.filter(digest=digest).only(*_INFO).first()
    return None if row is None else _info(row)


def newest(limit: int = 100) -> list[LinkTestInfo]:
    """Tests, newest first. -- uses ix_link_test_newest"""
    rows = LinkTest.objects.only(*_INFO).order_by("-measured_ns", "-id")
    return [_info(row) for row in rows[:limit]]


def get(number: int) -> LinkTestInfo | None:
    """One test. -- uses the primary key"""
    row = LinkTest.objects.filter(id=number).only(*_INFO).first()
    return None if row is None else _info(row)


def matrix(number: int) -> tuple[list[str], Matrix] | None:
    """(hosts, [from, to] in Gbit/s) of a test. -- uses the primary key"""
    body = LinkTest.objects.filter(id=number).values_list("body", flat=True).first()
    if body is None:
        return None
    packed = zstandard.decompress(bytes(body), max_output_size=_MAX_BYTES)
    read = msgspec.msgpack.decode(packed, type=_Body)
    cells = np.frombuffer(read.cells, np.float32).astype(np.float64)
    return read.hosts, cells.reshape(len(read.hosts), len(read.hosts))


def _info(row: LinkTest) -> LinkTestInfo:
    return LinkTestInfo(
        id=row.pk,
        name=row.name,
        tool=row.tool,
        measured_ns=row.measured_ns,
        sent_by=row.sent_by,
        sent_at_ns=row.sent_at_ns,
        hosts=row.hosts,
        verdict=msgspec.convert(row.verdict, LinkVerdict),
        wrong=tuple((a, b) for a, b in row.wrong),
        left_out=row.left_out,
    )
