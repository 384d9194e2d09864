"""The keys and the token of a demo, and what is left of earlier ones."""

import json
import stat

import pytest

from apps.accounts.services import verify_token
from apps.runs import store as runs
from workers.management.commands.demo_cluster import _session

pytestmark = pytest.mark.django_db


def test_the_first_demo_takes_the_plain_names(tmp_path):
    assert _session(tmp_path / "demo" / "a")["runs"] == {
        "lrbump": "lrbump",
        "sdc_rollback": "sdc_rollback",
    }


def test_a_later_demo_leaves_the_runs_of_earlier_ones_alone(tmp_path):
    for_each = ("lrbump", "lrbump-2", "sdc_rollback")
    assert [runs.ensure_run(key) > 0 for key in for_each] == [True] * 3

    assert _session(tmp_path / "demo" / "b")["runs"] == {
        "lrbump": "lrbump-3",
        "sdc_rollback": "sdc_rollback-2",
    }


def test_a_restarted_cluster_goes_on_with_its_runs_and_token(tmp_path):
    folder = tmp_path / "demo" / "a"
    first = _session(folder)
    token = (folder / "token").read_text()
    runs.ensure_run("lrbump")

    assert _session(folder) == first
    assert (folder / "token").read_text() == token


def test_the_token_is_private_and_may_do_what_a_cluster_does(tmp_path):
    _session(tmp_path / "demo" / "a")
    file = tmp_path / "demo" / "a" / "token"

    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    actor = verify_token(file.read_text())
    assert actor.scopes == {"read", "ingest", "operate"}


def test_the_files_of_earlier_demos_are_removed(tmp_path):
    old = tmp_path / "demo" / "old" / "lrbump"
    old.mkdir(parents=True)
    (old / "x").write_text("x")

    _session(tmp_path / "demo" / "new")

    assert not (tmp_path / "demo" / "old").exists()
    assert json.loads((tmp_path / "demo" / "new" / "session.json").read_text())["runs"]
