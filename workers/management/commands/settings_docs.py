"""`manage.py settings_docs [--check]`: docs/settings.md and .env.example from config/env.py."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from config import env
from config.home import ROOT

_HEAD = """# Settings

Every environment variable Lastgood reads. This page is written from `config/env.py` by
`manage.py settings_docs`; a wrong value stops the start and names what is allowed.
A secret may also be given as a file: set `NAME_FILE` to its path.

| name | kind | default | meaning |
|---|---|---|---|
"""


def settings_page() -> str:
    """docs/settings.md."""
    rows = []
    for setting in env.TABLE:
        kind = setting.kind.replace("|", "\\|") + (", secret" if setting.secret else "")
        default = f"`{setting.default}`" if setting.default else ""
        rows.append(f"| `{setting.name}` | {kind} | {default} | {setting.help} |\n")
    return _HEAD + "".join(rows)


def example_file() -> str:
    """.env.example: every setting, commented out."""
    lines = (f"# {s.help}\n# {s.name}={s.default}\n" for s in env.TABLE)
    return "# Copy to .env for docker compose. See docs/settings.md.\n\n" + "\n".join(lines)


class Command(BaseCommand):
    help = "Writes docs/settings.md and .env.example; --check only compares."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--check", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        wanted = {ROOT / "docs/settings.md": settings_page(), ROOT / ".env.example": example_file()}
        stale = [
            path
            for path, text in wanted.items()
            if not path.exists() or path.read_text(encoding="utf-8") != text
        ]
        if options["check"] and stale:
            names = ", ".join(str(path.relative_to(ROOT)) for path in stale)
            raise CommandError(f"out of date: {names}; run manage.py settings_docs")
        for path in stale:
            path.write_text(wanted[path], encoding="utf-8")
