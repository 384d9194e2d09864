"""The GraphQL requests of the `wandb` client: what it asks, and how the answers look. Pure.

No GraphQL engine: the client compiles its operations in, so each is known by its name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from apps.core.errors import BadPayload
from apps.ingest import frames
from apps.ingest.wandb.facts import Facts, facts_of
from apps.ingest.wandb.sessions import ENTITY, Session, Told, told_in
from apps.ingest.wandb.values import storable

DEFAULT_PROJECT: Final = "uncategorized"
_NAMED = re.compile(r"(?:\s|#[^\n]*\n)*(?:query|mutation)\s+(\w+)")
_PROBED_TYPE = re.compile(r'(?<!\w)(\w++)\s*+:\s*+__type\s*+\(\s*+name\s*+:\s*+"(\w++)"')
_TYPES: Final = {
    "Query": ("serverInfo",),
    "Mutation": ("createRunFiles",),
    "ServerInfo": ("cliVersionInfo", "latestLocalVersionInfo"),
}
"""What old clients (0.16.6) look for before they use it."""
_NEWEST_CLIENT: Final = "0.31.0"
_SYNC_PROGRAM = re.compile(r"(?:[/\\]wandb(?:\.exe|[/\\]__main__\.py)?|-m wandb(?:\.\w+)*)$")
"""What `wandb sync` says it is, in place of the training script."""
_LABELS: Final = {
    "displayName": "wandb/name",
    "groupName": "wandb/group",
    "jobType": "wandb/job_type",
    "notes": "wandb/notes",
    "commit": "wandb/commit",
    "tags": "wandb/tags",
    "host": "wandb/host",
    "program": "wandb/program",
}
_OF_THE_PROCESS: Final = ("wandb/host", "wandb/program")


@dataclass(frozen=True, slots=True)
class Operation:
    """One request. name: "" if it has none."""

    name: str
    variables: Mapping[str, Any]
    query: str


@dataclass(frozen=True, slots=True)
class Upsert:
    """What UpsertBucket says of a run. config: strict JSON, values unwrapped, labels as "wandb/…".

    first: of its process, which then says where it runs; a change of name or tags repeats that, and
    the id that this first request was answered. started: by the clock of an old client, "" else.
    told: of the process that it follows, if it resumes. copied: by `wandb sync`, not the training.
    entity: it believes to be of. writer_id, node, root: of the process, and where its folders are;
    later requests say it, and its facts.
    """

    key: str
    project: str
    host: str | None
    first: bool
    copied: bool
    config: Mapping[str, Any]
    started: str = ""
    told: Told | None = None
    entity: str = ""
    writer_id: str = ""
    node: str = ""
    root: str = ""
    facts: Facts = field(default_factory=Facts)


@dataclass(frozen=True, slots=True)
class Rewind:
    """What RewindRun asks for: that the run goes on after `step`."""

    key: str
    project: str
    step: int


@dataclass(frozen=True, slots=True)
class Rewound:
    """What a process that rewinds a run must know. told: what it will be known by."""

    project: str
    key: str
    config: Mapping[str, Any]
    told: Told


@dataclass(frozen=True, slots=True)
class Resumable:
    """What a process that resumes must know. Counts are of lines that are stored."""

    project: str
    key: str
    config: Mapping[str, Any]
    history: int
    events: int
    output: int
    history_tail: str
    events_tail: str
    attempt: int
    summary: Mapping[str, Any]

    @property
    def told(self) -> Told:
        """What the process will be known by."""
        return Told(self.attempt, self.history, self.events, self.output)


def parse_request(body: bytes) -> Operation:
    """The operation of a request; old clients name it in the text only. Raises BadPayload."""
    frames.weigh(body)
    try:
        request = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BadPayload(f"is not JSON ({error})", where="body") from None
    if not isinstance(request, dict):
        raise BadPayload("is not a JSON object", where="body")
    query, variables = request.get("query"), request.get("variables")
    variables = {} if variables is None else variables
    if not isinstance(query, str) or not isinstance(variables, dict):
        raise BadPayload("query must be a text, variables an object", where="body")
    named = request.get("operationName") or ((m := _NAMED.match(query)) and m[1]) or ""
    return Operation(str(named), variables, query)


def text_of(variables: Mapping[str, Any], *names: str) -> str:
    """The first of these variables that is a text, as Postgres accepts it; "" if none is."""
    found = next((v for name in names if isinstance(v := variables.get(name), str)), "")
    return str(storable(found))


def texts_of(variables: Mapping[str, Any], name: str, most: int) -> list[str]:
    """The list of texts that a variable is, at most so many; [] if it is not there. BadPayload."""
    found = variables.get(name) or []
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise BadPayload("must be a list of texts", where=name)
    return [str(storable(one)) for one in found[:most]]


def project_of(variables: Mapping[str, Any]) -> str:
    """The project, as much of it as is kept."""
    return text_of(variables, "project")[:200] or DEFAULT_PROJECT


def unsupported(name: str) -> tuple[str, str]:
    """(kind, what to say) of an operation that has no answer. Kinds are few: they are counted."""
    if "Sweep" in name or name in ("CreateAgent", "AgentHeartbeat", "Heartbeat"):
        return "sweeps", "Lastgood runs no sweeps: log each trial as a run of its own"
    if "RunQueue" in name or "Launch" in name:
        return "launch", "Lastgood launches no jobs"
    if "Registr" in name:
        return "registry", "Lastgood has no registry"
    return "other", f'Lastgood does not know the operation "{name[:100]}"'


def probed_types(query: str) -> dict[str, Any]:
    """The answer to an old client that asks what fields the server's types have."""
    return {
        alias: {"fields": [{"name": field} for field in _TYPES.get(name, ())], "inputFields": []}
        for alias, name in _PROBED_TYPE.findall(query)
    }


def upsert_of(variables: Mapping[str, Any]) -> Upsert:
    """The run of an UpsertBucket. BadPayload if its configuration is no JSON."""
    host, program = text_of(variables, "host"), text_of(variables, "program")
    copied = bool(_SYNC_PROGRAM.search(program))
    config = _unwrapped(text_of(variables, "config"))
    labels = {own: variables[name] for name, own in _LABELS.items() if variables.get(name)}
    if copied:
        labels = {name: said for name, said in labels.items() if name not in _OF_THE_PROCESS}
    key, place, parent = text_of(variables, "name"), _place(config), _parent(config)
    # A process that rewinds its own run says the same of it as one that forks another.
    if parent and not parent.startswith(f"{key}?"):
        labels["wandb/forked_from"] = parent
    told = told_in(text_of(variables, "id")[:300])
    facts = facts_of(place)
    return Upsert(
        key=key,
        project=project_of(variables),
        host=host or None,
        first=bool(host and program) and (told is not None or not variables.get("id")),
        started=_started(config),
        copied=copied,
        config=storable({**config, **labels, **facts.labels}),
        told=told,
        entity=text_of(variables, "entity")[:200],
        writer_id=text_of(place, "writerId"),
        node=text_of(place, "host"),
        root=text_of(place, "root"),
        facts=facts,
    )


def rewind_of(variables: Mapping[str, Any]) -> Rewind:
    """The moment that a RewindRun names. BadPayload if that is no step."""
    name, value = text_of(variables, "metricName"), variables.get("metricValue")
    if name != "_step":
        raise BadPayload(f'must be "_step", not "{name[:100]}"', where="resume_from")
    if not isinstance(value, int | float) or not 0 <= value < 2**53:
        raise BadPayload("the step must be a number of 0 or more", where="resume_from")
    # The client cuts the fraction off in the same way.
    return Rewind(text_of(variables, "runName"), project_of(variables), int(value))


def _parent(config: Mapping[str, Any]) -> str:
    """Run and step that a forked run begins from (`fork_from`); "" for any other."""
    own = config.get("_wandb")
    point = own.get("branch_point") if isinstance(own, dict) else None
    return f"{point.get('run_id')}?_step={point.get('step')}" if isinstance(point, dict) else ""


def _started(config: Mapping[str, Any]) -> str:
    own = config.get("_wandb")
    started = own.get("start_time") if isinstance(own, dict) else None
    return str(started) if isinstance(started, int | float) else ""


def _place(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the configuration says of the process it comes from; new clients add it."""
    own = config.get("_wandb")
    places = own.get("e") if isinstance(own, dict) else None
    found = [p for p in places.values() if isinstance(p, dict)] if isinstance(places, dict) else []
    return found[-1] if found else {}


def _unwrapped(text: str) -> dict[str, Any]:
    """Configuration without the {"value": …} around each entry. NaN and Infinity may be bare."""
    try:
        config = json.loads(text or "{}")
    except (ValueError, RecursionError) as error:
        raise BadPayload(f"is not JSON ({error})", where="config") from None
    if not isinstance(config, dict):
        raise BadPayload("is not a JSON object", where="config")
    return {
        key: entry["value"] if isinstance(entry, dict) and "value" in entry else entry
        for key, entry in config.items()
    }


def viewer(name: str) -> dict[str, Any]:
    """Who the token is. serverInfo: asked in the same request by old clients, to whom no
    latestLocalVersionInfo means that there is nothing newer."""
    return {
        "viewer": {
            "id": name,
            "name": name,
            "entity": ENTITY,
            "username": name,
            "email": "",
            "admin": False,
            "flags": "{}",
            "deletedAt": None,
            "apiKeys": None,
            "teams": {"edges": [{"node": {"name": ENTITY}}]},
        },
        "serverInfo": {
            "cliVersionInfo": {"max_cli_version": _NEWEST_CLIENT},
            "latestLocalVersionInfo": None,
        },
    }


def features() -> dict[str, Any]:
    """What the server can do beyond the oldest protocol."""
    names = ("STRUCTURED_CONSOLE_LOGS", "FILESTREAM_GZIP")
    return {"serverInfo": {"features": [{"name": name, "isEnabled": True} for name in names]}}


def upserted(upsert: Upsert, session: Session, *, inserted: bool) -> dict[str, Any]:
    """The run as the client wants it back. The entity tells its process from the run's others.

    historyLineCount is always 0: it is where a process that does not resume would begin to count
    its lines, and each process has an attempt of its own.
    """
    entity = {"id": session.entity, "name": session.entity}
    project = {"id": upsert.project, "name": upsert.project, "entity": entity}
    bucket = {
        "id": upsert.key,
        "name": upsert.key,
        "displayName": upsert.config.get("wandb/name") or upsert.key,
        "description": None,
        "config": "{}",
        "sweepName": None,
        "project": project,
        "historyLineCount": 0,
    }
    return {"upsertBucket": {"bucket": bucket, "inserted": inserted}}


def resume_status(found: Resumable | None) -> dict[str, Any]:
    """Where a process that resumes goes on; no bucket: there is nothing to resume."""
    if found is None:
        return {"model": {"id": "", "name": "", "entity": _entity(), "bucket": None}}
    bucket = {
        "id": found.told.packed(found.key),
        "name": found.key,
        "summaryMetrics": orjson.dumps(dict(found.summary)).decode(),
        "displayName": found.config.get("wandb/name") or found.key,
        "logLineCount": found.output,
        "historyLineCount": found.history,
        "eventsLineCount": found.events,
        "historyTail": _tail(found.history_tail),
        "eventsTail": _tail(found.events_tail),
        "config": _wrapped(found.config),
        "tags": found.config.get("wandb/tags") or [],
        "notes": found.config.get("wandb/notes"),
        "wandbConfig": '{"t":{}}',
    }
    model = {"id": found.project, "name": found.project, "entity": _entity(), "bucket": bucket}
    return {"model": model}


def rewound(found: Rewound) -> dict[str, Any]:
    """The run as it is to be gone on with. Events and console count anew, the client knows no
    number for them."""
    run = {
        "id": found.told.packed(found.key),
        "name": found.key,
        "displayName": found.config.get("wandb/name") or found.key,
        "description": None,
        "config": _wrapped(found.config),
        "sweepName": None,
        "project": {"id": found.project, "name": found.project, "entity": _entity()},
        "historyLineCount": found.told.history,
    }
    return {"rewindRun": {"rewoundRun": run}}


def _wrapped(config: Mapping[str, Any]) -> str:
    """Configuration as the client sent it, without what is not of the user."""
    own = {key: value for key, value in config.items() if key != "_wandb"}
    return orjson.dumps(
        {key: {"value": value} for key, value in own.items() if not key.startswith("wandb/")}
    ).decode()


def _tail(line: str) -> str:
    return orjson.dumps([line] if line else []).decode()


def _entity() -> dict[str, str]:
    return {"id": ENTITY, "name": ENTITY}


def file_targets(key: str, targets: Sequence[tuple[str, str | None]]) -> dict[str, Any]:
    """Where each (name, address) is to be uploaded; None: nowhere."""
    files = [{"name": name, "uploadUrl": url} for name, url in targets]
    return {"createRunFiles": {"runID": key, "uploadHeaders": [], "files": files}}
