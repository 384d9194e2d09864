"""LASTGOOD_HOME: where state lives, the secrets kept there, and the servers that run now."""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from config import env

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Servers:
    """Addresses of the servers started by the supervisor; empty strings if none runs."""

    database_url: str = ""
    redis_url: str = ""
    web_url: str = ""
    events_url: str = ""


def path() -> Path:
    """LASTGOOD_HOME as an absolute path; relative values count from the checkout."""
    return (ROOT / env.text("LASTGOOD_HOME")).resolve()


def secret(name: str, file: str) -> str:
    """The secret `name` from the environment, else from LASTGOOD_HOME/secrets, made once."""
    value = env.text(name)
    if value:
        return value
    target = path() / "secrets" / file
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return target.read_text(encoding="ascii")
    made = secrets.token_urlsafe(48)
    with os.fdopen(handle, "w", encoding="ascii") as out:
        out.write(made)
    return made


def servers() -> Servers:
    """What `LASTGOOD_HOME/run/servers.json` says, or nothing."""
    try:
        found = json.loads((path() / "run" / "servers.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return Servers()
    return Servers(**{key: found.get(key, "") for key in Servers.__slots__})
