"""`python -m config.settings_docs [--check]`: docs/settings.md, .env.example from config/env.py."""

from __future__ import annotations

import sys

from config import env
from config.home import ROOT
from config.metrics_docs import filled

_HEAD = """# Settings

Every environment variable Lastgood reads. This page is written from `config/env.py` by
`make settings-docs`; a wrong value stops the start and names what is allowed.
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


def main(arguments: list[str]) -> int:
    """Writes the files, and the tables of metric names; with --check only compares. The exit
    status."""
    names = ROOT / "docs/metrics.md"
    wanted = {
        ROOT / "docs/settings.md": settings_page(),
        ROOT / ".env.example": example_file(),
        names: filled(names.read_text(encoding="utf-8")),
    }
    stale = [
        path
        for path, text in wanted.items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    if "--check" in arguments:
        for path in stale:
            sys.stderr.write(f"{path.relative_to(ROOT)} is out of date: `make settings-docs`\n")
        return 1 if stale else 0
    for path in stale:
        path.write_text(wanted[path], encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
