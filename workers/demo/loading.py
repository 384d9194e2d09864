"""A recorded run through the normal doors at full speed, start after start."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx

from apps.core.errors import AppError
from workers.demo.folder import EVENTS, HostLogs, RecordedRun, RecordedStart
from workers.tailer.agent import Agent
from workers.tailer.config import AgentConfig, Limits

_COUNTED = ("sent_batches", "sent_lines", "sent_raw_bytes", "sent_body_bytes", "dead_letters")
_POLL_S = 0.25


@dataclass(frozen=True, slots=True)
class Target:
    """Where a run goes. token: with scope ingest, and read for waiting."""

    url: str
    token: str
    run: str


def load(run: RecordedRun, target: Target, work: Path) -> dict[str, int]:
    """Send all starts of a run, oldest first; gives what was sent.

    work: an empty folder for spools; a second load of the same files makes the same batches, so
    the server takes nothing twice. Raises AppError if the server cannot be reached or refuses.
    """
    totals = dict.fromkeys(_COUNTED, 0)
    for start in run.starts:
        for config in _configs(run, start, target, work / f"start-{start.number}"):
            status = Agent(config).run()
            for name in _COUNTED:
                totals[name] += status[name]
    return totals


def _configs(
    run: RecordedRun, start: RecordedStart, target: Target, work: Path
) -> Iterator[AgentConfig]:
    """One agent per host; the first one also has the metrics and the checkpoints."""
    for number, host in enumerate(start.hosts):
        first = number == 0
        yield AgentConfig(
            run=target.run,
            node=host.node,
            url=target.url,
            token=target.token,
            state_dir=work / host.node,
            torchrun=(host.torchrun,) if host.torchrun else (),
            console=_consoles(host),
            wandb=(start.wandb,) if start.wandb and first else (),
            checkpoints=_events(run, start, work) if first else (),
            once=True,
            resume_step=start.resume_step,
            limits=Limits(discover_s=0.0),
        )


def _consoles(host: HostLogs) -> tuple[Path, ...]:
    return (host.console,) if host.console else ()


def _events(run: RecordedRun, start: RecordedStart, work: Path) -> tuple[Path, ...]:
    """The checkpoint events of one start, in a file of their own beside the checkpoints."""
    if run.events is None:
        return ()
    later = [other.started_ns for other in run.starts if other.number > start.number]
    lines = [
        line
        for line in run.events.read_bytes().splitlines(keepends=True)
        if (start.number == 1 or _time_ns(line) >= start.started_ns)
        and not (later and _time_ns(line) >= min(later))
    ]
    work.mkdir(parents=True, exist_ok=True)
    link = work / "checkpoints"
    if not link.is_symlink():
        link.symlink_to((run.folder / "checkpoints").absolute(), target_is_directory=True)
    (work / EVENTS).write_bytes(b"".join(lines))
    return (work / EVENTS,)


def _time_ns(line: bytes) -> int:
    """Time of an event; a line that is none counts as old and is reported by the agent."""
    try:
        return int(json.loads(line)["ts"] * 1e9)
    except (ValueError, KeyError, TypeError):
        return 0


class Reader:
    """Asks the server's API about one run."""

    def __init__(self, target: Target) -> None:
        self._client = httpx.Client(
            base_url=f"{target.url.rstrip('/')}/api/v1",
            headers={"Authorization": f"Bearer {target.token}"},
            timeout=60.0,
            trust_env=False,
        )
        self._run = quote(target.run, safe="")
        self._key = target.run

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def wait(self, timeout_s: float) -> None:
        """Return when all that was sent is written and analysed; AppError after `timeout_s`."""
        deadline = time.monotonic() + timeout_s
        while not is_analysed(status := self._get(f"/runs/{self._run}/ingest")):
            if time.monotonic() > deadline:
                raise AppError(
                    f"not analysed after {timeout_s:.0f} s (pending {status.get('pending')}, "
                    f"behind {status.get('behind')})",
                    where=f"run {self._key}",
                    hint="is the writer running? see `make up` and its log",
                )
            time.sleep(_POLL_S)

    def summary(self) -> dict[str, Any]:
        """What Lastgood says about the run, as JSON-able values."""
        run = self._get(f"/runs/{self._run}")
        ingest = self._get(f"/runs/{self._run}/ingest")
        checkpoints = self._get(f"/runs/{self._run}/checkpoints")["items"]
        incidents = self._get("/incidents", {"run": self._key, "limit": "100"})["items"]
        counters = ingest.get("counters", {})
        attempts = ("number", "parent", "fork_step", "first_step", "last_step")
        return {
            "run": self._key,
            "state": run.get("state"),
            "attempts": [{name: item.get(name) for name in attempts} for item in run["attempts"]],
            "points": counters.get("points", 0),
            "lines": counters.get("lines", 0),
            "quarantined": ingest.get("quarantined", 0),
            "checkpoints": [
                {name: item.get(name) for name in ("attempt", "step", "level", "complete")}
                for item in checkpoints
            ],
            "incidents": [_incident(item) for item in incidents],
        }

    def _get(self, path: str, query: Mapping[str, str] | None = None) -> dict[str, Any]:
        try:
            response = self._client.get(path, params=query)
        except httpx.HTTPError as error:
            raise AppError(
                f"does not answer ({type(error).__name__})",
                where=str(self._client.base_url),
                hint="start it with `make up`, or give --url",
            ) from error
        if not response.is_success:
            raise AppError(
                f"answers {response.status_code}: {response.text[:200]}", where=f"GET {path}"
            )
        found: dict[str, Any] = response.json()
        return found


def is_analysed(status: Mapping[str, Any]) -> bool:
    """Whether nothing waits in the stream and the analysis has seen all that is written."""
    return not status.get("pending") and not status.get("behind")


def _incident(item: Mapping[str, Any]) -> dict[str, Any]:
    suspects = ("rank", "node", "fault_class", "confidence")
    candidates = ("step", "attempt", "eligible", "level")
    facts = ("kind", "severity", "page", "state", "onset_step", "cause_hint", "resolution")
    return {
        **{name: item.get(name) for name in facts},
        "suspects": [{name: s.get(name) for name in suspects} for s in item.get("suspects", [])],
        "candidates": [
            {name: c.get(name) for name in candidates} for c in item.get("candidates", [])
        ],
    }
