"""`lastgood resume-point`: where a start begins, checked, prepared, and printed for a shell."""

from __future__ import annotations

import json
import shlex
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from workers.cli.branching import prepare
from workers.cli.server import Server, Trouble
from workers.cli.signed import verified

FORMATS = ("env", "json", "path", "args")
POLL_S = 25
PAUSE_S = 1.0
MOST_PAUSE_S = 10.0
T = TypeVar("T")
NAMES = ("CKPT_RESUME_URI", "CKPT_RESUME_STEP", "CKPT_RESUME_PATH", "CKPT_BRANCH_DIR")


@dataclass(frozen=True, slots=True)
class ResumeAsk:
    """What the command line asks for. key: of the signature. wait_s: at most so long for an order.
    patience_s: at most so long for a server that does not answer. file: instead of a server.
    launch: the name under which the order is acknowledged, "": not at all."""

    run: str
    key: str
    form: str = "env"
    prepare: bool = False
    any_files: bool = False
    launch: str = ""
    wait_s: float = 0.0
    patience_s: float = 60.0
    file: str = ""


def show_resume_point(server: Server | None, ask: ResumeAsk) -> None:
    """Prints the resume point on stdout and what was done on stderr. Raises Trouble.

    In this order: verify, prepare, acknowledge, print. An order that cannot be prepared here is
    not taken on.
    """
    if server is None:
        payload = verified(_of_file(ask.file), ask.key, ask.run)
    else:
        payload = _asked(server, ask)
    _explain(payload)
    if ask.prepare:
        _say(prepare(payload, check_files=not ask.any_files))
    if ask.launch and server is not None and payload["source"] == "order":
        _acknowledge(server, ask, payload)
    print(written(payload, ask.form))  # noqa: T201


def written(payload: Mapping[str, Any], form: str) -> str:
    """The payload in one of FORMATS. env: lines for `eval`, also of what is empty, so that no
    variable of an earlier start is left."""
    branch = payload.get("branch") or {}
    if form == "json":
        return json.dumps(payload, indent=2, ensure_ascii=False)
    if form == "path":
        return str(branch.get("load", ""))
    arguments = shlex.join(branch.get("arguments", ()))
    if form == "args":
        return arguments
    values = {name: payload["env"].get(name, "") for name in NAMES}
    values |= {
        "CKPT_START_ARGS": arguments,
        "CKPT_EXCLUDE_NODES": ",".join(payload["exclude_nodes"]),
        "CKPT_SKIP_RANGES": ",".join(f"{a}-{b}" for a, b in payload["skip_ranges"]),
        "CKPT_ORDER": "" if payload["order"] is None else str(payload["order"]),
    }
    return "\n".join(f"export {name}={shlex.quote(value)}" for name, value in values.items())


def _asked(server: Server, ask: ResumeAsk) -> dict[str, Any]:
    """What the server answers; with a wait, as soon as an order is there."""
    path = f"/api/v1/runs/{quote(ask.run, safe='')}/resume-point"
    end = time.monotonic() + ask.wait_s
    known, payload = "", None
    while True:
        left_s = max(0.0, end - time.monotonic()) if payload else 0.0
        parameters = {"wait": f"{min(left_s, POLL_S):.1f}"} if left_s else {}
        answer = _patiently(partial(server.document, path, parameters, known), ask)
        if answer.document is not None:
            payload, known = verified(answer.document, ask.key, ask.run), answer.etag
        if payload and (payload["source"] == "order" or time.monotonic() >= end):
            return payload
        time.sleep(min(answer.wait_s, max(0.0, end - time.monotonic())))


def _patiently(once: Callable[[], T], ask: ResumeAsk) -> T:
    """Tries again while the server is away: a start must not fail because of a restart of ours."""
    end, pause_s = time.monotonic() + ask.patience_s, PAUSE_S
    while True:
        try:
            return once()
        except Trouble as error:
            if not error.again or time.monotonic() + pause_s > end:
                raise
            _say(f"{error}; trying again")
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, MOST_PAUSE_S)


def _of_file(path: str) -> dict[str, Any]:
    """The document in an order file."""
    try:
        found = json.loads(Path(path).read_bytes())
    except FileNotFoundError:
        raise Trouble(f"{path} is not there: no order waits, or this is another machine") from None
    except (OSError, ValueError) as error:
        raise Trouble(f"{path} cannot be read: {error}") from error
    return found if isinstance(found, dict) else {}


def _acknowledge(server: Server, ask: ResumeAsk, payload: Mapping[str, Any]) -> None:
    path = f"/api/v1/runs/{quote(ask.run, safe='')}/rollback/{payload['order']}/acknowledge"
    _patiently(lambda: server.post(path, {"launch": ask.launch}), ask)
    _say(f"RB-{payload['order']} was acknowledged as {ask.launch}")


def _explain(payload: Mapping[str, Any]) -> None:
    """One line for the log of the job."""
    step, uri = payload["step"], payload["checkpoint_uri"]
    if payload["source"] == "order":
        _say(f"RB-{payload['order']} by {payload['approver']}: start from step {step}, {uri}")
    elif step is None:
        _say("no complete checkpoint is known: start at the beginning")
    else:
        _say(f"no order waits: continue from step {step}, {uri}")
    if payload["warning"]:
        _say(f"WARNING: {payload['warning']}")


def _say(words: str) -> None:
    print(f"lastgood: {words}", file=sys.stderr)  # noqa: T201
