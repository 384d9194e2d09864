"""Every statement about where hosts stand."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from django.db.models import Count, Max, Q, QuerySet

from apps.core.sql import execute, query
from apps.nodes.domain.standing import Act, HostState, Standing
from apps.nodes.models import Node, NodeChange
from apps.nodes.records import ChangeInfo, GroupCount, HostInfo, HostQuery, OpenEvent, Place

MAX_PAGE = 200
MAX_GROUPS = 2_000
MAX_CHANGES = 200
OPEN_KINDS = 5
"""Kinds of open events that are told of one host, the worst ones."""
_LOUD = "('critical', 'error', 'warning')"


def get(name: str) -> HostInfo | None:
    """One host. -- uses the unique name"""
    row = Node.objects.filter(name=name).first()
    return _info(row) if row else None


def known(names: Collection[str]) -> dict[str, HostInfo]:
    """name -> host, of those that are there. -- uses the unique name"""
    return {row.name: _info(row) for row in Node.objects.filter(name__in=list(names))}


def list_hosts(asked: HostQuery) -> list[HostInfo]:
    """Confirmed before suspected before cordoned before ok before replaced, then by lemon score,
    then by name. -- uses ix_node_urgency"""
    rows = _asked(asked).order_by("urgency", "-log2_score", "name")
    if asked.after is not None:
        rows = rows.filter(_behind(asked.after), urgency__gte=asked.after.urgency)
    return [_info(row) for row in rows[: max(0, min(asked.limit, MAX_PAGE))]]


def _asked(asked: HostQuery) -> QuerySet[Node]:
    rows = Node.objects.all()
    if asked.state is not None:
        rows = rows.filter(state=asked.state.value)
    if asked.group is not None:
        rows = rows.filter(group_name=asked.group)
    if asked.names is not None:
        rows = rows.filter(name__in=list(asked.names))
    return rows.filter(name__icontains=asked.text) if asked.text else rows


def _behind(place: Place) -> Q:
    same = Q(urgency=place.urgency)
    lower = Q(log2_score__lt=place.log2_score)
    later = Q(log2_score=place.log2_score, name__gt=place.name)
    return Q(urgency__gt=place.urgency) | (same & (lower | later))


def groups() -> list[GroupCount]:
    """The groups of the fleet, those with hosts in trouble first, then by name; at most
    MAX_GROUPS. Reads every node once."""
    rows = Node.objects.values_list("group_name", "state").annotate(Count("id"))
    found: dict[str, dict[HostState, int]] = {}
    for group, state, count in rows.order_by("group_name", "state"):
        found.setdefault(group, {})[HostState(state)] = count
    counted = [GroupCount(group, counts) for group, counts in found.items()]
    return sorted(counted, key=lambda one: (one.ill == 0, one.group))[:MAX_GROUPS]


def lock(names: Sequence[str]) -> dict[str, HostInfo]:
    """The named hosts that are known, locked until the transaction ends, in one order for all."""
    rows = Node.objects.select_for_update().filter(name__in=list(names)).order_by("name")
    return {row.name: _info(row) for row in rows}


def save_standing(host: HostInfo, act: Act, after: Standing) -> ChangeInfo:
    """The only place that changes where a host stands, and writes its history. The caller holds
    the host's lock."""
    Node.objects.filter(name=host.name).update(
        state=after.state.value,
        since_ns=after.since_ns,
        changed_by=after.by[:200],
        reason=after.reason,
        cause=after.cause,
        came_from=after.came_from.value,
        replaced_by=after.replaced_by,
    )
    last = NodeChange.objects.filter(node=host.name).aggregate(last=Max("seq"))["last"]
    row = NodeChange.objects.create(
        node=host.name,
        seq=0 if last is None else last + 1,
        at_ns=after.since_ns or 0,
        act=act.value,
        before=host.state.value,
        after=after.state.value,
        actor=after.by[:200],
        reason=after.reason,
        cause=after.cause,
    )
    return _change(row)


def changes(name: str, before: tuple[int, int], limit: int = MAX_CHANGES) -> list[ChangeInfo]:
    """The newest changes of a host before a (time, seq), newest first. -- uses the primary key"""
    at_ns, seq = before
    earlier = Q(at_ns__lt=at_ns) | Q(at_ns=at_ns, seq__lt=seq)
    rows = NodeChange.objects.filter(earlier, node=name).order_by("-at_ns", "-seq")
    return [_change(row) for row in rows[: min(limit, MAX_CHANGES)]]


def set_scores(scores: Mapping[str, float]) -> None:
    """name -> log2 of the lemon score."""
    sql = """
        UPDATE nodes_node SET log2_score = s.score
          FROM unnest(%s::text[], %s::float8[]) AS s(name, score)
         WHERE nodes_node.name = s.name AND nodes_node.log2_score <> s.score
    """
    if scores:
        execute(sql, [list(scores), list(scores.values())])


def set_racks(racks: Mapping[str, str]) -> int:
    """name -> rack, "" for none; how many hosts changed."""
    sql = """
        UPDATE nodes_node SET rack = r.rack
          FROM unnest(%s::text[], %s::text[]) AS r(name, rack)
         WHERE nodes_node.name = r.name AND nodes_node.rack <> r.rack
    """
    return execute(sql, [list(racks), list(racks.values())]) if racks else 0


def open_events(names: Collection[str], since_ns: int) -> dict[str, list[OpenEvent]]:
    """name -> its events since a time that are loud and have no end, worst first, one of a kind.

    What happened before a person said that the host is fine, or was replaced, is not open any more.
    -- uses the primary key of the events
    """
    sql = f"""
        SELECT * FROM (
          SELECT e.node, e.kind, e.severity, e.message, e.device, e.source, e.time_ns,
                 count(*) OVER w AS times,
                 row_number() OVER (PARTITION BY e.node, e.kind ORDER BY e.time_ns DESC) AS nth
            FROM nodes_nodeeventrow e JOIN nodes_node n ON n.name = e.node
           WHERE e.node = ANY(%s) AND e.time_ns >= %s AND e.ended_ns IS NULL
             AND e.severity IN {_LOUD}
             AND (n.state NOT IN ('ok', 'replaced') OR e.time_ns > coalesce(n.since_ns, 0))
          WINDOW w AS (PARTITION BY e.node, e.kind)
        ) newest WHERE nth = 1
        ORDER BY node, array_position(ARRAY{_LOUD.replace("(", "[").replace(")", "]")}, severity),
                 time_ns DESC
    """  # noqa: S608  constants of this module
    found: dict[str, list[OpenEvent]] = {}
    for *told, _ in query(sql, [list(names), since_ns]):
        event = OpenEvent(*told)
        of_host = found.setdefault(event.node, [])
        if len(of_host) < OPEN_KINDS:
            of_host.append(event)
    return found


def _change(row: NodeChange) -> ChangeInfo:
    return ChangeInfo(
        node=row.node,
        seq=row.seq,
        at_ns=row.at_ns,
        act=Act(row.act),
        before=HostState(row.before),
        after=HostState(row.after),
        actor=row.actor,
        reason=row.reason,
        cause=row.cause,
    )


def _info(row: Node) -> HostInfo:
    standing = Standing(
        state=HostState(row.state),
        since_ns=row.since_ns,
        by=row.changed_by,
        reason=row.reason,
        cause=row.cause,
        came_from=HostState(row.came_from),
        replaced_by=row.replaced_by,
    )
    return HostInfo(
        name=row.name,
        standing=standing,
        log2_score=row.log2_score,
        rack=row.rack,
        group=row.group_name,
        urgency=row.urgency,
        first_seen_at=row.first_seen_at,
    )
