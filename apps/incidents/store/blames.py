"""Which incidents name which hosts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q

from apps.core.sql import query
from apps.incidents.domain.blaming import HostBlame
from apps.incidents.domain.incident import IncidentInfo
from apps.incidents.models import HostBlameRow
from apps.nodes.domain.lemon import Blame

MAX_SCORED = 100_000
MAX_LISTED = 200
_FIELDS = ("rank", "fault_class", "confidence", "weight", "confirmed_by")


@dataclass(frozen=True, slots=True)
class Blamed:
    """A host that an incident names, with what a list says of the incident."""

    run_id: int
    incident_id: int
    attempt: int
    at_ns: int
    blame: HostBlame
    kind: str
    state: str
    title: str

    @property
    def label(self) -> str:
        """The name people use: INC-42."""
        return f"INC-{self.incident_id}"

    @property
    def unresolved(self) -> bool:
        """Whether the incident is not over."""
        return self.state != "resolved"


def save_blames(
    info: IncidentInfo, blames: Sequence[HostBlame], now_ns: int
) -> tuple[dict[str, int], set[str]]:
    """Writes whom an incident names now: (node -> since when it does, nodes it names no more).

    -- uses the primary key
    """
    rows = HostBlameRow.objects.filter(run_id=info.run_id, incident_id=info.id)
    before = dict(rows.values_list("node", "noted_ns"))
    gone = before.keys() - {one.node for one in blames}
    if gone:
        rows.filter(node__in=gone).delete()
    HostBlameRow.objects.bulk_create(
        [_row(info, one, now_ns) for one in sorted(blames, key=lambda b: b.node)],
        update_conflicts=True,
        unique_fields=["run_id", "incident_id", "node"],
        update_fields=["attempt", "at_ns", *_FIELDS],
    )
    return {one.node: before.get(one.node, now_ns) for one in blames}, gone


def _row(info: IncidentInfo, blame: HostBlame, now_ns: int) -> HostBlameRow:
    return HostBlameRow(
        run_id=info.run_id,
        incident_id=info.id,
        node=blame.node,
        attempt=info.attempt,
        at_ns=min(info.onset_time_ns, now_ns),
        noted_ns=now_ns,
        **{name: getattr(blame, name) for name in _FIELDS},
    )


def scored(nodes: Collection[str]) -> dict[str, list[Blame]]:
    """node -> what its lemon score is made of, newest first. -- uses ix_blame_node"""
    rows = HostBlameRow.objects.filter(node__in=list(nodes), weight__gt=0).order_by("-at_ns")
    found: dict[str, list[Blame]] = {node: [] for node in nodes}
    told = rows.values_list("node", "run_id", "attempt", "at_ns", "weight")
    for node, run_id, attempt, at_ns, weight in told[:MAX_SCORED]:
        found[node].append(Blame(run_id, attempt, at_ns, weight))
    return found


def still_suspected(nodes: Collection[str], weight: float, since_ns: int) -> set[str]:
    """The nodes that some incident of after a time blames for at least so much.

    -- uses ix_blame_node
    """
    enough = Q(weight__gte=weight) | ~Q(confirmed_by="")
    rows = HostBlameRow.objects.filter(enough, node__in=list(nodes), at_ns__gte=since_ns)
    return set(rows.values_list("node", flat=True).distinct())


def unconfirmed(since_ns: int, limit: int = 1_000) -> list[tuple[int, int, str, int]]:
    """(run, incident, node, onset) of blames since a time that no event confirms yet, newest
    first. -- uses ix_blame_unconfirmed"""
    rows = HostBlameRow.objects.filter(confirmed_by="", at_ns__gte=since_ns).order_by("-at_ns")
    return list(rows.values_list("run_id", "incident_id", "node", "at_ns")[:limit])


_TOLD = """
    b.run_id, b.incident_id, b.attempt, b.at_ns, b.node, b.rank, b.fault_class, b.confidence,
    b.weight, b.confirmed_by, i.kind, i.state, i.title
"""
_JOINED = """
    incidents_hostblamerow b
    JOIN incidents_incident i ON i.run_id = b.run_id AND i.id = b.incident_id
"""


def blamed(node: str, before: tuple[int, int], limit: int = MAX_LISTED) -> list[Blamed]:
    """The newest incidents that name a host, before an (onset, number), newest first.

    -- uses ix_blame_node and ix_incident_id
    """
    sql = f"""
        SELECT {_TOLD} FROM {_JOINED} WHERE b.node = %s AND (b.at_ns, b.incident_id) < (%s, %s)
         ORDER BY b.at_ns DESC, b.incident_id DESC LIMIT %s
    """  # noqa: S608  constants of this module
    return [_blamed(row) for row in query(sql, [node, *before, min(limit, MAX_LISTED)])]


def blamed_lately(nodes: Collection[str], since_ns: int) -> dict[str, list[Blamed]]:
    """node -> the incidents since a time that blame it for anything, newest first.

    -- uses ix_blame_node and ix_incident_id
    """
    sql = f"""
        SELECT {_TOLD} FROM {_JOINED}
         WHERE b.node = ANY(%s) AND b.at_ns >= %s AND b.weight > 0
         ORDER BY b.at_ns DESC, b.incident_id DESC LIMIT {MAX_SCORED}
    """  # noqa: S608  constants of this module
    found: dict[str, list[Blamed]] = {}
    for row in query(sql, [list(nodes), since_ns]):
        one = _blamed(row)
        found.setdefault(one.blame.node, []).append(one)
    return found


def blamed_by_open(limit: int = MAX_LISTED) -> list[Blamed]:
    """Hosts that incidents blame which are not over, the newest incident first.

    -- uses ix_incident_urgency and the primary key of blames
    """
    sql = f"""
        SELECT {_TOLD} FROM {_JOINED} WHERE i.urgency < 5 AND b.weight > 0
         ORDER BY b.incident_id DESC, b.weight DESC, b.node LIMIT %s
    """  # noqa: S608  constants of this module
    return [_blamed(row) for row in query(sql, [limit])]


def _blamed(row: Sequence[Any]) -> Blamed:
    run_id, incident_id, attempt, at_ns, *rest = row
    return Blamed(run_id, incident_id, attempt, at_ns, HostBlame(*rest[:6]), *rest[6:])
