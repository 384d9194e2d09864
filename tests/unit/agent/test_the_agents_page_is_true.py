"""docs/agent.md: the table of settings, the kinds of files, the number of packages."""

import re
from pathlib import Path

from workers.tailer.settings import SETTINGS

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/agent.md").read_text(encoding="utf-8")


def test_the_table_of_settings_is_that_of_the_program():
    section = PAGE.split("## Settings", 1)[1].split("\n## ", 1)[0]
    rows = re.findall(r"^\| `(\w+)` \| (.+) \|$", section, re.MULTILINE)
    assert rows == [(setting.name, setting.what) for setting in SETTINGS]


def test_the_number_of_packages_is_told():
    locked = (ROOT / "requirements/agent.txt").read_text(encoding="utf-8")
    assert len(re.findall(r"^[\w.-]+==", locked, re.MULTILINE)) == 15
    assert "fifteen packages" in PAGE


def test_every_kind_of_log_file_says_whose_its_lines_are():
    section = PAGE.split("## Whose lines", 1)[1].split("\n## ", 1)[0]
    kinds = re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)
    assert kinds == ["torchrun", "logs", "slurm", "pods", "console"]
