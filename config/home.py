"""LASTGOOD_HOME: where state lives, the secrets kept there, and the servers that run now."""

from __future__ import annotations

import json
import os
import secrets
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from apps.core.errors import AppError
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
    """The secret `name` from the environment, else from LASTGOOD_HOME/secrets, made once.

    However many processes start at once, all get the same one: it appears whole or not at all.
    """
    value = env.text(name)
    if value:
        return value
    target = path() / "secrets" / file
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        _make_once(target)
    value = target.read_text(encoding="ascii").strip()
    if not value:
        raise AppError("the file is empty", where=str(target), hint="delete it or fill it")
    return value


def _make_once(target: Path) -> None:
    """Writes a new secret to `target` unless another process was faster."""
    with tempfile.NamedTemporaryFile("w", dir=target.parent, encoding="ascii") as made:
        made.write(secrets.token_urlsafe(48))
        made.flush()
        os.fsync(made.fileno())
        with suppress(FileExistsError):
            os.link(made.name, target)


def servers() -> Servers:
    """What `LASTGOOD_HOME/run/servers.json` says, or nothing."""
    try:
        found = json.loads((path() / "run" / "servers.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return Servers()
    return Servers(**{key: found.get(key, "") for key in Servers.__slots__})
