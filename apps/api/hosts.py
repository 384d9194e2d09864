"""Hosts: where each stands and why; what people and programs say of one."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from django.http import HttpRequest
from ninja import Query, Router, Schema
from pydantic import Field

from apps.api.auth import caller, needs
from apps.api.errors import Missing
from apps.api.lookup import capped
from apps.core.clock import now_ns
from apps.core.errors import Refused
from apps.incidents import host_story, hosts
from apps.incidents.domain.storymark import ALWAYS, mark_of
from apps.incidents.hosts import HostRow
from apps.nodes import hosts_store, services
from apps.nodes.domain.preparing import prepare
from apps.nodes.domain.standing import MAX_REASON, HostState
from apps.nodes.records import HostInfo, HostQuery

router = Router(auth=needs("read"))
_NAME = Field("", max_length=services.MAX_NAME)


class BlamedOut(Schema):
    """weight: how much of the incident the host is blamed for, 0 to 1."""

    incident: int
    run_id: int
    attempt: int
    at_ns: int
    state: str
    title: str
    rank: int | None
    fault_class: str
    confidence: float
    weight: float
    confirmed_by: str


class OpenEventOut(Schema):
    """The newest event of a kind that has not ended. count: how many there are of the kind."""

    kind: str
    severity: str
    message: str
    device: str | None
    source: str
    time_ns: int
    count: int


class RunningOut(Schema):
    """ranks: how many of the attempt's ranks are on the host, from the first to the last."""

    run: str
    attempt: int
    ranks: int
    first: int
    last: int


class HostOut(Schema):
    """state: ok, suspected, confirmed, cordoned or replaced. group: the rack, else the beginning of
    the name. lemon_score: decayed count of blames; `why` says in words what it is made of. cause:
    what the state hangs on, such as "incident:42"."""

    name: str
    state: HostState
    since_ns: int | None
    by: str
    reason: str
    cause: str
    replaced_by: str
    rack: str
    group: str
    lemon_score: float
    why: str
    last_seen_ns: int | None
    incidents: list[BlamedOut]
    events: list[OpenEventOut]
    running: list[RunningOut]


class HostPage(Schema):
    """next: pass it as `after`; null on the last page."""

    items: list[HostOut]
    next: str | None


class LineOut(Schema):
    """what: event, incident, attempt or state. incident, run and attempt: what the line is of."""

    at_ns: int
    what: str
    title: str
    text: str
    incident: int | None
    run: str
    attempt: int | None


class CommandsOut(Schema):
    """To be copied; Lastgood runs none of them. left_out: names that fit no command."""

    drain: str
    resume: str
    exclude: str
    cordon: str
    uncordon: str
    affinity: str
    left_out: list[str]


class HostStoryOut(HostOut):
    """A host with its story, newest first. before: pass it to read older lines."""

    story: list[LineOut]
    before: str | None
    commands: CommandsOut


class AskedIn(Schema):
    """state: one of the five. q: part of the name. group: exactly. run: hosts of its newest
    attempt. after: the `next` of a page."""

    state: HostState | None = None
    q: str = _NAME
    group: str | None = Field(None, max_length=services.MAX_NAME)
    run: str = Field("", max_length=200)
    limit: int = 50
    after: str = Field("", max_length=400)


class StateIn(Schema):
    """reason: what you did or found out. replaced_by: the host in its place, if it is replaced."""

    state: HostState
    reason: Annotated[str, Field(max_length=MAX_REASON)]
    replaced_by: str = _NAME


class RacksIn(Schema):
    """host -> rack, "" for none; hosts that are not known are left alone."""

    racks: dict[str, str]


@router.get(
    "/nodes",
    response=HostPage,
    summary="Hosts, those in trouble first",
    description="Confirmed before suspected before cordoned before ok before replaced, then by "
    "lemon score.",
)
def list_nodes(request: HttpRequest, asked: Query[AskedIn]) -> dict[str, Any]:
    names = hosts.of_run(asked.run) if asked.run else None
    if asked.run and names is None:
        raise Missing("no such run", where="run", hint="GET /api/v1/runs lists the runs")
    limit, after = capped(asked.limit), hosts.place_of(asked.after)
    if asked.after and after is None:
        raise Refused("this is no place in the list", where="after", hint="send `next` of a page")
    query = HostQuery(asked.state, asked.q, asked.group, names, limit, after)
    found = hosts.rows(query)
    more = hosts.mark(found[-1].host) if len(found) == limit else None
    return {"items": [_shape(row) for row in found], "next": more}


@router.post(
    "/nodes/racks",
    response=dict[str, int],
    auth=needs("operate"),
    summary="Say in which racks hosts stand",
)
def set_racks(request: HttpRequest, payload: RacksIn) -> dict[str, int]:
    return {"changed": services.set_racks(payload.racks, actor=caller(request))}


@router.post(
    "/nodes/{path:name}/state",
    response=HostOut,
    auth=needs("operate"),
    summary="Say where a host stands",
    description="Nothing is done to the host itself. 409 if it stands there already.",
)
def set_state(request: HttpRequest, name: str, payload: StateIn) -> dict[str, Any]:
    moment = now_ns()
    host = services.mark(
        name,
        payload.state,
        actor=caller(request),
        now_ns=moment,
        reason=payload.reason,
        replaced_by=payload.replaced_by,
    )
    return _shape(hosts.beside([host], moment)[0])


@router.get(
    "/nodes/{path:name}",
    response=HostStoryOut,
    summary="One host with its story and commands that take it out of service",
)
def get_node(
    request: HttpRequest, name: str, before: Annotated[str, Field(max_length=120)] = ""
) -> dict[str, Any]:
    host = _host_of(name)
    place = mark_of(before) if before else ALWAYS
    if place is None:
        hint = "send the `before` of an answer, or Unix nanoseconds"
        raise Refused("this is no place in a story", where="before", hint=hint)
    told = host_story.story(host.name, place)
    return {
        **_shape(hosts.beside([host], now_ns())[0]),
        "story": told.lines,
        "before": str(told.before) if told.before else None,
        "commands": asdict(prepare([host.name], host.standing.reason)),
    }


def _host_of(name: str) -> HostInfo:
    found = hosts_store.get(name)
    if found is None:
        raise Missing("no such host", where="name", hint="GET /api/v1/nodes lists them")
    return found


def _shape(row: HostRow) -> dict[str, Any]:
    host, standing = row.host, row.host.standing
    return {
        "name": host.name,
        "state": standing.state,
        "since_ns": standing.since_ns,
        "by": standing.by,
        "reason": standing.reason,
        "cause": standing.cause,
        "replaced_by": standing.replaced_by,
        "rack": host.rack,
        "group": host.group,
        "lemon_score": round(row.score, 4),
        "why": row.record.words,
        "last_seen_ns": row.last_ns,
        "incidents": [
            {
                **asdict(one.blame),
                "incident": one.incident_id,
                "run_id": one.run_id,
                "attempt": one.attempt,
                "at_ns": one.at_ns,
                "state": one.state,
                "title": one.title,
            }
            for one in row.blamed
        ],
        "events": row.events,
        "running": row.running,
    }
