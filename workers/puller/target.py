"""Lastgood as the puller sees it: the doors of a `wandb` client, and one for the mirror's state."""

from __future__ import annotations

import json
import logging
import random
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

import httpx

from apps.core.errors import AppError
from workers.puller.records import Described, Facts, Held, Mark, Spot
from workers.tailer.server import Answer, Verdict, answer_of, is_local

log = logging.getLogger(__name__)
_random = random.SystemRandom()
ENTITY: Final = "puller"
"""None that Lastgood gives to a process: what comes under it belongs to the newest one."""
FIRST_WAIT_S, LONGEST_WAIT_S = 0.5, 60.0
MOST_ERRORS = 5
"""500 is no outage: so often in a row it is about what was sent, and other runs must not wait."""
Lines = Mapping[str, tuple[int, Sequence[str]]]
"""File -> (number of the first line, lines)."""


class Refused(AppError):
    """Lastgood will not take this, however often it is sent."""


class Stopping(AppError):
    """The puller was told to end while it waited."""


class Target:
    """One Lastgood, one token with the scope ingest. stop: ends waits."""

    def __init__(self, url: str, token: str, stop: threading.Event) -> None:
        self._stop = stop
        self._client = httpx.Client(
            base_url=url,
            timeout=60.0,
            trust_env=not is_local(url),
            headers={"User-Agent": "lastgood-puller"},
        )
        self._basic, self._bearer = ("api", token), {"Authorization": f"Bearer {token}"}

    def held(self, spot: Spot) -> Held | None:
        """What is stored of the run; None if it is not there. Everything sent before counts."""
        asked = {"project": spot.project, "entity": ENTITY, "name": spot.key}
        bucket = self._ask("RunResumeStatus", asked)["model"]["bucket"]
        if bucket is None:
            return None
        history, events = (_tail(bucket[name]) for name in ("historyTail", "eventsTail"))
        newest = None
        if history:
            line = bucket["historyLineCount"] - 1
            newest = Mark(line, int(history["_step"]), history.get("_timestamp"))
        return Held(
            history=bucket["historyLineCount"],
            events=bucket["eventsLineCount"],
            output=bucket["logLineCount"],
            newest=newest,
            events_stamp=events.get("_timestamp"),
            told=bucket["id"],
        )

    def begin(self, spot: Spot, said: Described, program: str, told: str | None) -> None:
        """Opens an attempt, as a process does; told: where the last one ended. The same
        words again, before any line, are the same process."""
        first = {"host": "puller", "program": program, "id": told}
        self._ask("UpsertBucket", {**_upsert(spot, said), **first})

    def describe(self, spot: Spot, said: Described) -> None:
        """Configuration and labels as they are now."""
        self._ask("UpsertBucket", _upsert(spot, said))

    def send(self, spot: Spot, lines: Lines, **ends: Any) -> None:
        """Lines of files; returns once they are durable."""
        files = {name: {"offset": at, "content": list(text)} for name, (at, text) in lines.items()}
        body = {**({"files": files} if files else {}), **ends}
        path = f"/files/{ENTITY}/{quote(spot.project, safe='')}/{spot.key}/file_stream"
        answer = self._post(path, body, auth=self._basic)
        if answer.get("stopped"):
            log.warning("run %s is to be stopped: do it where it runs, %s", spot.key, spot.source)

    def report(
        self, spot: Spot, facts: Facts, step: int, behind: int | None, error: str = ""
    ) -> None:
        """How far the mirror is; shown on Ingest health. behind: lines, None: unknown."""
        body = {
            "source": spot.source,
            "state": facts.state,
            "step": step,
            "behind": behind,
            "error": error[:500],
        }
        self._post(f"/api/v1/runs/{spot.key}/mirror", body, headers=self._bearer)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _ask(self, operation: str, variables: Mapping[str, Any]) -> Mapping[str, Any]:
        body = {"operationName": operation, "query": "", "variables": variables}
        answer = self._post("/graphql", body, auth=self._basic)
        errors = answer.get("errors")
        if errors:
            raise Refused(str(errors[0].get("message", errors[0])), where=operation)
        data: Mapping[str, Any] = answer["data"]
        return data

    def _post(self, path: str, body: Mapping[str, Any], **how: Any) -> Mapping[str, Any]:
        content = json.dumps(body).encode()
        failures = errors = 0
        while True:
            try:
                response = self._client.post(path, content=content, **how)
                answer = answer_of(response)
            except httpx.HTTPError as error:
                answer = Answer(Verdict.LATER, 0, f"{type(error).__name__}: {error}")
            if answer.verdict is Verdict.TAKEN:
                return answer.body or {}
            errors = errors + 1 if answer.status == 500 else 0
            refused = answer.verdict is Verdict.NEVER or answer.status in (401, 403)
            if refused or errors == MOST_ERRORS:
                raise Refused(f"{answer.status}: {answer.message}", where=path)
            failures += 1
            log.warning("Lastgood: %s; trying again", answer.message or answer.status)
            longest = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2 ** min(failures, 10))
            if self._stop.wait(answer.wait_s or longest * _random.uniform(0.5, 1)):
                raise Stopping("told to end")


def _tail(text: str) -> dict[str, Any]:
    lines = json.loads(text)
    found = json.loads(lines[-1]) if lines else {}
    return found if isinstance(found, dict) else {}


def _upsert(spot: Spot, said: Described) -> dict[str, Any]:
    return {
        "name": spot.key,
        "entity": ENTITY,
        "project": spot.project,
        "config": json.dumps(said.config),
        "displayName": said.name,
        "tags": list(said.tags),
        "notes": said.notes,
        "groupName": said.group,
        "jobType": said.job_type,
    }
