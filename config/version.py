"""The version, read from the first release heading of CHANGELOG.md."""

import re
from pathlib import Path

_HEADING = re.compile(r"^## \[?v?(\d+\.\d+\.\d+)", re.MULTILINE)


def read() -> str:
    """The newest released version, or 0.0.0 before the first release."""
    changelog = Path(__file__).resolve().parent.parent / "CHANGELOG.md"
    found = _HEADING.search(changelog.read_text(encoding="utf-8")) if changelog.exists() else None
    return found.group(1) if found else "0.0.0"


VERSION = read()
