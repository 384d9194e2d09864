"""What a template includes or extends exists: Django finds out only when it is shown."""

import re
from pathlib import Path

import pytest

TEMPLATES = Path(__file__).parents[2] / "templates"
NAMED = re.compile(r"{% (?:include|extends) [\"']([^\"']+)[\"']")


@pytest.mark.parametrize(
    "path", sorted(TEMPLATES.rglob("*.*")), ids=lambda path: str(path.relative_to(TEMPLATES))
)
def test_it_names_only_what_is_there(path):
    named = NAMED.findall(path.read_text(encoding="utf-8"))
    assert [name for name in named if not (TEMPLATES / name).is_file()] == []
