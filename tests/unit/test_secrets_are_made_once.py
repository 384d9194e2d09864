"""config.home.secret"""

import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from apps.core.errors import AppError
from config import home

ROOT = Path(__file__).parents[2]
SHOW = "from config import home; print(home.secret('SECRET_KEY', 'key'))"


@pytest.fixture
def folder(monkeypatch, tmp_path):
    monkeypatch.setenv("LASTGOOD_HOME", str(tmp_path))
    return tmp_path / "secrets"


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_the_second_start_finds_the_first_ones_secret(folder):
    made = home.secret("SECRET_KEY", "key")
    assert len(made) == 64
    assert home.secret("SECRET_KEY", "key") == made


def test_nobody_else_may_read_it_and_nothing_else_is_left(folder):
    home.secret("SECRET_KEY", "key")
    assert (mode(folder), mode(folder / "key")) == (0o700, 0o600)
    assert [path.name for path in folder.iterdir()] == ["key"]


def test_a_given_one_wins_and_makes_no_file(folder, monkeypatch):
    monkeypatch.setenv("SECRET_KEY", "given")
    assert home.secret("SECRET_KEY", "key") == "given"
    assert not folder.exists()


def test_one_that_exists_is_never_replaced(folder):
    folder.mkdir()
    (folder / "key").write_text("old")
    home._make_once(folder / "key")
    assert home.secret("SECRET_KEY", "key") == "old"


def test_an_empty_file_is_no_secret(folder):
    folder.mkdir()
    (folder / "key").touch()
    with pytest.raises(AppError, match="the file is empty; delete it or fill it"):
        home.secret("SECRET_KEY", "key")


def test_processes_that_start_at_once_agree(folder):
    environ = {**os.environ, "LASTGOOD_HOME": str(folder.parent)}

    def start(_):
        command = [sys.executable, "-c", SHOW]
        return subprocess.check_output(command, cwd=ROOT, env=environ, text=True)

    with ThreadPoolExecutor(4) as pool:
        found = set(pool.map(start, range(4)))
    assert len(found) == 1
    assert len(found.pop().strip()) == 64
