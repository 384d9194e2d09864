"""rollbacks.files.sync_all: what a process left when it died between commit and file."""

import pytest

from apps.rollbacks import files, services
from tests import rollback_story
from tests.rollback_story import ADA, KEY, asked
from workers.tasks.rollbacks import sync

pytestmark = pytest.mark.django_db


@pytest.fixture
def incident(settings, tmp_path):
    settings.ORDERS_DIR = tmp_path / "orders"
    return rollback_story.explode()


@pytest.fixture
def order(incident):
    """An order whose file was never written: nothing runs on commit here."""
    return services.request(asked())


def test_a_missing_file_is_written_once(order):
    assert [sync(), sync()] == [1, 0]
    assert files.path_of(KEY).read_bytes() == services.resume_point(order.run_id).body


def test_a_file_that_stayed_is_removed(order):
    files.sync(order.run_id)
    services.cancel(order.run_id, order.id, ADA, "wrong step")
    assert files.path_of(KEY).exists()
    assert [sync(), sync()] == [1, 0]
    assert not files.path_of(KEY).exists()


def test_a_damaged_file_is_written_anew(order):
    files.sync(order.run_id)
    files.path_of(KEY).write_bytes(b"{")
    assert sync() == 1
    assert files.path_of(KEY).read_bytes() == services.resume_point(order.run_id).body


def test_what_a_killed_writer_left_is_overwritten(order):
    left = files.path_of(KEY).with_name(f".{KEY}.json.tmp")
    left.parent.mkdir(parents=True)
    left.write_bytes(b"{")
    files.sync(order.run_id)
    assert sorted(p.name for p in left.parent.iterdir()) == [".lock", f"{KEY}.json"]


def test_files_of_others_are_left_alone(order):
    stranger = files.path_of("nobody knows this run")
    stranger.parent.mkdir(parents=True)
    stranger.write_bytes(b"{}")
    sync()
    assert stranger.exists()
